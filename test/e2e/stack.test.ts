import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { assert } from "chai";
import { createPublicClient, http, parseEther } from "viem";
import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from "viem/accounts";
import { createSiweMessage, generateSiweNonce } from "viem/siwe";

import { findFreePorts } from "../../scripts/local/ports.ts";
import { PORTS_PER_STACK } from "../../scripts/local/stack-ports.ts";
import type { StackFacts } from "../../scripts/local/facts.ts";
import { PageReader } from "./support/first-agent.ts";
import { StackProcess, endTimeoutMs, noProcessLeft } from "./support/stack-process.ts";

describe("the local stack", () => {
  let dir: string;
  let portBase: number;
  before(async () => {
    dir = mkdtempSync(join(tmpdir(), "marketplace-stack-"));
    portBase = await findFreePorts(PORTS_PER_STACK);
  });
  after(() => {
    rmSync(dir, { recursive: true, force: true });
  });

  const start = (...args: string[]): StackProcess => new StackProcess(dir, ["--port-base", String(portBase), ...args]);

  it("names a taken port, the service that needs it, and how to change it", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(portBase + 3, "127.0.0.1", resolve));
    const { code, output } = await start().ended;
    server.close();
    assert.strictEqual(code, 1);
    assert.match(output, new RegExp(`Port ${portBase + 3}, which Postgres needs, is taken .*--port-base`));
    await noProcessLeft(dir);
  });

  it("names an unknown service and lists the known ones", async () => {
    const { code, output } = await start("--only", "chains,mongodb").ended;
    assert.strictEqual(code, 1);
    assert.match(output, /no service "mongodb"; the services are chains, postgres, graph, mongo, api, worker/);
  });

  it("rejects a second stack on the same data while the first one runs", async () => {
    const first = start("--only", "mongo");
    await first.ready();
    const { code, output } = await start("--only", "mongo").ended;
    assert.strictEqual(code, 1);
    assert.match(output, new RegExp(`already runs on .*process ${first.pid}`));
    first.interrupt();
    assert.strictEqual((await first.ended).code, 0);
  });

  describe("with agents to practise with", () => {
    let stack: StackProcess;
    let facts: StackFacts;
    let home: string;
    let reader: PageReader;
    before(async () => {
      stack = start("--agents");
      facts = await stack.ready();
      home = mkdtempSync(join(tmpdir(), "first-agent-"));
      reader = new PageReader(home, facts);
    });
    after(() => {
      rmSync(home, { recursive: true, force: true });
    });

    it("hands out its clients, and gives money to any wallet of its chains", async () => {
      const { api = "", networks } = facts;
      const { data } = (await (await fetch(`${api}/downloads`)).json()) as { data: { url: string; install: string }[] };
      assert.deepEqual(
        data.map(({ install }) => install),
        [`npm install --global ${api}/downloads/cli.tgz`, `npm install ${api}/downloads/sdk.tgz viem`],
      );
      for (const { url } of data) assert.strictEqual((await fetch(url)).status, 200);
      assert.strictEqual(reader.block("install").trim(), data[0]?.install);
      assert.include(readFileSync(join(dir, "logs", "town.log"), "utf8"), "the town is open: 6 sellers and 12 buyers");
      const address = privateKeyToAddress(generatePrivateKey());
      const args = ["scripts/faucet.ts", address, "--stack", join(dir, "stack.json")];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      assert.include(stdout, `${address} has them on base-sepolia.`);
      const reading = createPublicClient({ transport: http(networks["base-sepolia"]?.rpcUrl) });
      assert.strictEqual(await reading.getBalance({ address }), parseEther("1"));
    });

    it("makes a wallet for a browser, which may sign in with that and with a printed one alone", async () => {
      const { api = "", accounts } = facts;
      const { host, origin } = new URL(api);
      const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
        const sent = { "content-type": "application/json", ...headers };
        const answer = await fetch(`${api}${path}`, { method: "POST", headers: sent, body: JSON.stringify(body) });
        return { status: answer.status, body: (await answer.json()) as any };
      };
      const signIn = async (key: string) => {
        const account = privateKeyToAccount(key as Hex);
        const message = createSiweMessage({
          address: account.address,
          domain: host,
          uri: origin,
          version: "1",
          chainId: 84_532,
          nonce: generateSiweNonce(),
          statement: "Open a read-only page session for this agent.",
        });
        const body = { message, signature: await account.signMessage({ message }), scopes: "read" };
        return (await post("/api/v1/sessions", body, { origin, "sec-fetch-site": "same-origin" })).body.code as string;
      };
      const made = await post("/api/v1/stack/wallets", {});
      assert.strictEqual(made.status, 201);
      for (const key of [made.body.data.privateKey, accounts[0]?.privateKey]) {
        assert.strictEqual(await signIn(key), "wallet_not_registered");
      }
      assert.strictEqual(await signIn(generatePrivateKey()), "wallet_not_of_stack");
    });

    it("settles a deal on each side by docs/first-agent.md with the command line", async () => {
      assert.include(await reader.shell("setup"), "got on base-sepolia");
      assert.match(await reader.shell("buy"), /^state +released$/m);
      assert.match(await reader.shell("sell"), /^state +(released|resolved)$/m);
    });

    it("settles a deal by docs/first-agent.md with MCP, after the clocks have moved", async () => {
      assert.strictEqual((await reader.mcp()).at(-1).state, "released");
    });

    it("settles a deal by docs/first-agent.md in Python, after the clocks have moved", async function () {
      const printed = await reader.python();
      if (printed === undefined) this.skip();
      assert.match(printed, /^result: \{.+\}\nstate: released\n$/);
    });

    it("ends with what it has started", async () => {
      stack.interrupt();
      assert.strictEqual((await stack.ended).code, 0);
    });
  });

  it("ends within ten seconds of ctrl-C and leaves no process, even during its start", async () => {
    const running = start();
    await running.ready();
    assert.strictEqual(
      running.services().size,
      9,
      "two chains, two graph-nodes, Postgres, MongoDB, API, worker, guard",
    );
    const askedAt = performance.now();
    running.interrupt();
    const { code, output } = await running.ended;
    const tookMs = performance.now() - askedAt;
    assert.ok(tookMs < endTimeoutMs(), `${Math.round(tookMs)} ms`);
    assert.strictEqual(code, 0, output);
    await noProcessLeft(dir);

    const starting = start("--only", "graph");
    while (starting.services().size === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    starting.interrupt();
    assert.strictEqual((await starting.ended).code, 130);
    await noProcessLeft(dir);
  });
});
