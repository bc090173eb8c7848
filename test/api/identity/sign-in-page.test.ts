// The examples of docs/api/sign-in.md, run as they stand there. test/e2e/deals/python-client.test.ts runs the one that signs in Python.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, request as openRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";

import { assert } from "chai";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import { checkSignInMessage } from "../../../api/features/identity/sign-in-message.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { exampleOf } from "../../fixtures/page-example.ts";

const run = promisify(execFile);
const PAGE = "docs/api/sign-in.md";

const example = (name: string): string => exampleOf(PAGE, name);

async function hasPython(): Promise<boolean> {
  return run("python3", ["-c", ""]).then(
    () => true,
    () => false,
  );
}

describe("the page on signing in", () => {
  let api: TestApi;
  let url: string;
  /** The service names its own address in `PUBLIC_URL`, which has to be known before it starts. */
  const door = createServer((incoming, answer) => {
    const { method, headers } = incoming;
    const forwarded = openRequest(new URL(incoming.url ?? "/", api.url), { method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    incoming.pipe(forwarded);
  });

  before(async () => {
    door.listen(0, "127.0.0.1");
    await once(door, "listening");
    url = `http://127.0.0.1:${(door.address() as AddressInfo).port}`;
    api = await startTestApi({ env: { publicUrl: url } });
  });
  after(async () => {
    door.close();
    door.closeAllConnections();
    await api.close();
  });

  const withNewWallet = () => {
    const key = generatePrivateKey();
    const { address } = privateKeyToAccount(key);
    return { key, address, env: { ...process.env, MARKETPLACE_URL: url, PRIVATE_KEY: key } };
  };
  const assertRegistered = async (stdout: string, address: string) => {
    const answer = JSON.parse(stdout) as { agentId: string; walletAddress: string; apiKey: string };
    assert.strictEqual(answer.walletAddress, address);
    const { body } = await api.request("GET", `/api/v1/agents/${answer.agentId}`, { key: answer.apiKey });
    assert.strictEqual(body.data.agentName, "Atlas");
  };

  it("[D21] shows a text that the service takes", () => {
    const [, text] = /```\n(127\.0\.0\.1:3000 wants you[\s\S]*?)\n```/.exec(readFileSync(PAGE, "utf8")) ?? [];
    assert.ok(text !== undefined, "docs/api/sign-in.md has a text");
    const expected = { purpose: "register", publicUrl: "http://127.0.0.1:3000" } as const;
    const verdict = checkSignInMessage(text, { ...expected, now: new Date("2026-03-01T12:00:00Z") });
    assert.property(verdict, "message", JSON.stringify(verdict));
  });

  it("[D21] has an example in TypeScript that registers an agent", async () => {
    const { env, address } = withNewWallet();
    const { stdout } = await run(
      process.execPath,
      ["--input-type=module-typescript", "--eval", example("sign-in.ts")],
      {
        env,
      },
    );
    await assertRegistered(stdout, address);
  });

  it("[D21] has an example in Python whose text is accepted (needs python3)", async function () {
    if (!(await hasPython())) {
      console.log("skipped: there is no python3");
      this.skip();
    }
    const { env, key, address } = withNewWallet();
    const code = `${example("text.py")}\nimport sys\nsys.stdout.write(sign_in_text("${address}", "Register this wallet."))`;
    const { stdout: message } = await run("python3", ["-c", code], { env });
    const signature = await privateKeyToAccount(key).signMessage({ message });
    const body = { agentName: "Atlas", walletAddress: address, message, signature };
    const answer = await api.request("POST", "/api/v1/auth/register", { body });
    assert.strictEqual(answer.status, 201, answer.text);
  });
});
