import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { encodePaymentRequiredHeader } from "@x402/core/http";
import { assert } from "chai";

import { startScriptedServer } from "../fixtures/scripted-server.ts";
import { installSdk, readSdkManifest, SDK_NAME } from "../fixtures/sdk-package.ts";
import type { SdkManifest } from "../fixtures/sdk-package.ts";

const run = promisify(execFile);
const ROOT = resolve(".");

const USE = `
import { ApiError, collect, Marketplace } from "${SDK_NAME}";
import type { Deal, Transaction } from "${SDK_NAME}";
import { verifyWebhook } from "${SDK_NAME}/webhooks";
import { createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { baseSepolia } from "viem/chains";

const account = privateKeyToAccount(\`0x\${"1".repeat(64)}\`);
const wallet = createWalletClient({ account, chain: baseSepolia, transport: http() });
const market = new Marketplace({ url: "http://127.0.0.1:1", retry: { maxAttempts: 1 } });

export async function settle(): Promise<bigint> {
  const { agent } = await market.register({ agentName: "A", wallet });
  const deal: Deal = await agent.checkout({ serviceId: "lst_1" });
  const funded: Transaction = await deal.fund({ maxAmount: 1n, timeoutMs: 1 });
  const [first] = await collect(agent.jobs({ status: "funded" }), 1);
  return funded.amount + (first?.lockedAmount ?? 0n);
}

console.log(typeof settle, typeof verifyWebhook, ApiError.name);
`;

const PAY = `
import { Marketplace } from "${SDK_NAME}";
import { createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { baseSepolia } from "viem/chains";

const account = privateKeyToAccount(\`0x\${"1".repeat(64)}\`);
const wallet = createWalletClient({ account, chain: baseSepolia, transport: http() });
const payments = { wallet, maxPerCallUsd: 100n, maxPerDayUsd: 100n };
const agent = new Marketplace({ url: process.argv[2] ?? "", payments }).agent({ apiKey: "svc_1", wallet });
console.log(await agent.account.usage().catch((error: Error) => error.message));
`;

/** A number of token units isn't a `bigint`. */
const MISUSE = USE.replace("maxAmount: 1n", "maxAmount: 1");

describe("the package", () => {
  const dir = mkdtempSync(join(tmpdir(), "sdk-package-"));
  let installed: string;
  after(() => {
    rmSync(dir, { recursive: true, force: true });
  });

  before(async () => {
    installed = await installSdk(dir);
    writeFileSync(join(dir, "use.ts"), USE);
    writeFileSync(join(dir, "misuse.ts"), MISUSE);
  });

  it("holds the compiled code with its types, README and license, and no source", () => {
    assert.deepEqual(readdirSync(installed).sort(), ["LICENSE", "README.md", "dist", "package.json"]);
    const compiled = readdirSync(join(installed, "dist"));
    assert.includeMembers(compiled, ["index.js", "index.d.ts", "webhooks.js", "webhooks.d.ts", "generated"]);
    assert.isFalse(existsSync(join(installed, "src")));
  });

  it("builds with the packages that the repository has", () => {
    const root = JSON.parse(readFileSync("package.json", "utf8")) as SdkManifest;
    const { dependencies, devDependencies, peerDependencies } = readSdkManifest(installed);
    const ours = { ...root.devDependencies, ...root.dependencies };
    const expected = ["@noble/curves", "@noble/hashes", "eventsource-parser", "viem"];
    assert.deepEqual(dependencies, Object.fromEntries(expected.map((name) => [name, `^${ours[name]}`])));
    const peers = ["@x402/core", "@x402/evm"];
    assert.deepEqual(peerDependencies, Object.fromEntries(peers.map((name) => [name, `^${ours[name]}`])));
    assert.strictEqual(devDependencies["typescript"], root.devDependencies["typescript"]);
  });

  it("is imported by Node from a folder that has nothing else", async () => {
    const { stdout } = await run(process.execPath, ["use.ts"], { cwd: dir });
    assert.strictEqual(stdout.trim(), "function function ApiError");
  });

  it("says which packages payments need, and pays once they are there", async () => {
    const token = `0x${"2".repeat(40)}` as const;
    const payTo = `0x${"3".repeat(40)}` as const;
    const demand = encodePaymentRequiredHeader({
      x402Version: 2,
      resource: { url: "/api/v1/auth/usage", description: "", mimeType: "application/json" },
      accepts: [
        {
          scheme: "exact",
          network: "eip155:84532",
          amount: "100",
          asset: token,
          payTo,
          maxTimeoutSeconds: 300,
          extra: { name: "USDC", version: "2" },
        },
      ],
    });
    const network = {
      network: "base-sepolia",
      chainId: 84_532,
      caip2: "eip155:84532",
      contracts: {},
      tokens: [{ symbol: "USDC", address: token, decimals: 6 }],
      payments: { payTo, token },
    };
    const asked = { status: 402, headers: { "payment-required": demand }, body: { error: "PAYMENT_REQUIRED" } };
    const networks = { status: 200, body: { success: true, data: [network], nextCursor: null } };
    const server = await startScriptedServer(asked, asked, networks, { status: 200, body: { data: "paid" } });
    try {
      writeFileSync(join(dir, "pay.ts"), PAY);
      const pay = () => run(process.execPath, ["pay.ts", server.url], { cwd: dir });
      const missing = "the packages @x402/core and @x402/evm are missing (npm install @x402/core @x402/evm)";
      assert.strictEqual((await pay()).stdout.trim(), `GET /api/v1/auth/usage isn't paid for: ${missing}`);
      mkdirSync(join(dir, "node_modules", "@x402"));
      for (const name of Object.keys(readSdkManifest(installed).peerDependencies)) {
        symlinkSync(join(ROOT, "node_modules", name), join(dir, "node_modules", name));
      }
      assert.strictEqual((await pay()).stdout.trim(), "paid");
    } finally {
      await server.close();
    }
  });

  it("type-checks with plain tsc, and has types that catch a mistake", async () => {
    const bin = join(ROOT, "node_modules", "typescript", "bin", "tsc");
    const options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext"];
    const checked = run(process.execPath, [bin, ...options, "use.ts", "misuse.ts"], { cwd: dir });
    const { stdout } = await checked.catch((error: unknown) => error as { stdout: string });
    const mistakes = stdout.split("\n").filter((line) => line.includes("error"));
    assert.strictEqual(mistakes.length, 1, stdout);
    assert.match(
      mistakes[0] ?? "",
      /^misuse\.ts\(\d+,\d+\): error TS2322: Type 'number' is not assignable to type 'bigint'/,
    );
  });
});
