// A stranger's way in with Python: a client generated from /openapi.json, a wallet, and nothing else of this repository.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { assert } from "chai";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import { installPythonTools } from "../../../scripts/testing/python-tools.ts";
import { run } from "../../../scripts/testing/run.ts";
import { readStack } from "../../fixtures/api.ts";
import { ONE_USDC } from "../../fixtures/deals.ts";
import { openFullStack } from "../../fixtures/full-stack.ts";
import type { FullStack } from "../../fixtures/full-stack.ts";
import { outputOf } from "../../fixtures/output-of.ts";
import { exampleOf } from "../../fixtures/page-example.ts";

const ROOM = fileURLToPath(new URL("./python-client", import.meta.url));
const WORK = resolve(".local", "python-client");
const VENV = join(WORK, "venv");
const CLIENT = join(WORK, "client");
const PACKAGE = "marketplace_client";
const LIMIT_MS = 240_000;

/** What the script prints. */
interface Outcome {
  transaction: { status: string; responsePayload: unknown; proofVerified: boolean; lockedAmount: string };
  timeline: string[];
  memory: string[];
}

describe("a Python client generated from /openapi.json (needs Python 3.10, venv and pip)", function () {
  this.timeout(LIMIT_MS * 2);
  let stack: FullStack;
  let generated: { code: number; output: string };

  const tool = (name: string, args: string[]) =>
    run(join(VENV, "bin", name), args, {
      capture: true,
      signal: AbortSignal.timeout(LIMIT_MS),
      env: { PATH: `${join(VENV, "bin")}:${process.env["PATH"] ?? ""}` },
    });

  before(async function () {
    try {
      await installPythonTools(VENV, join(ROOM, "requirements.txt"), () => {
        console.log(`Installing openapi-python-client, mypy and eth-account into ${VENV} …`);
      });
    } catch (error) {
      console.log(`skipped: the Python packages can't be installed: ${(error as Error).message}`);
      this.skip();
    }
    stack = await openFullStack();
    rmSync(CLIENT, { recursive: true, force: true });
    mkdirSync(dirname(CLIENT), { recursive: true });
    const [document, config] = [join(WORK, "openapi.json"), join(WORK, "config.yml")];
    writeFileSync(document, await (await fetch(`${stack.url}/openapi.json`)).text());
    writeFileSync(config, `package_name_override: ${PACKAGE}\n`);
    const options = ["--path", document, "--output-path", CLIENT, "--config", config];
    generated = await tool("openapi-python-client", ["generate", ...options]);
  });

  it("is generated without a warning", () => {
    assert.strictEqual(generated.code, 0, generated.output);
    assert.notMatch(generated.output, /warning|error|unable|skipping/i);
  });

  it("has models that are named after things, and none after a path", () => {
    const models = readdirSync(join(CLIENT, PACKAGE, "models"));
    assert.includeMembers(models, ["transaction.py", "checkout_request.py", "not_found_error.py"]);
    for (const name of models) assert.notMatch(name, /^(get|post|patch|put|delete)_|_v1_|response_\d/);
  });

  it("has no error of types", async () => {
    const { code, output } = await tool("mypy", ["--strict", join(CLIENT, PACKAGE)]);
    assert.strictEqual(code, 0, output);
    assert.match(output, /Success: no issues found in \d{3} source files/);
  });

  it("[S4.303] completes a deal, reads its timeline, and exports its memory", async () => {
    const [buyerKey, sellerKey] = [generatePrivateKey(), generatePrivateKey()];
    await stack.chain.endow(privateKeyToAccount(buyerKey), { usdc: 10n * ONE_USDC });
    await stack.chain.endow(privateKeyToAccount(sellerKey), { usdc: 0n });
    const { rpcUrl } = (await readStack()).networks["base-sepolia"];
    const facts = JSON.stringify({ url: stack.url, rpcUrl, buyerKey, sellerKey });
    const python = join(VENV, "bin", "python");
    const printed = await outputOf(python, [join(ROOM, "deal.py")], facts, {
      timeoutMs: LIMIT_MS,
      env: { ...process.env, PYTHONPATH: CLIENT },
    });
    const { transaction, timeline, memory } = JSON.parse(printed) as Outcome;
    assert.strictEqual(transaction.status, "released");
    assert.strictEqual(transaction.proofVerified, true);
    assert.deepEqual(transaction.responsePayload, { haiku: "A block, then silence" });
    const paid = await stack.chain.usdcOf(privateKeyToAccount(sellerKey).address);
    assert.strictEqual(paid, BigInt(transaction.lockedAmount));
    assert.includeMembers(timeline, ["TimelineMove", "TimelineAuditEntry"]);
    assert.include(memory, "last-deal");
  });

  it("[D21] signs in by the example of docs/api/sign-in.md", async () => {
    const key = generatePrivateKey();
    const code = ["text.py", "register.py"].map((name) => exampleOf("docs/api/sign-in.md", name)).join("\n");
    const env = { ...process.env, MARKETPLACE_URL: stack.url, PRIVATE_KEY: key };
    const printed = await outputOf(join(VENV, "bin", "python"), ["-c", code], "", { timeoutMs: LIMIT_MS, env });
    const { walletAddress, apiKey } = JSON.parse(printed) as { walletAddress: string; apiKey: string };
    assert.strictEqual(walletAddress, privateKeyToAccount(key).address);
    assert.match(apiKey, /^svc_[0-9a-f]{64}$/);
  });
});
