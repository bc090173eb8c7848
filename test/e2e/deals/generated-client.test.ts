// A stranger's way in: a client generated from /openapi.json, a wallet, and nothing else of this repository.
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { createClient } from "@hey-api/openapi-ts";
import { assert } from "chai";
import type { Hex } from "viem";
import { createSiweMessage } from "viem/siwe";

import { run } from "../../../scripts/testing/run.ts";
import { openFullStack } from "../../fixtures/full-stack.ts";
import type { FullStack } from "../../fixtures/full-stack.ts";
import { until } from "../../fixtures/until.ts";

type Wallet = Awaited<ReturnType<FullStack["newWallet"]>>;

/** What a generated function takes and returns. */
interface CallOptions {
  baseUrl: string;
  auth?: string;
  path?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
}
interface Called {
  data?: any;
  error?: unknown;
  response: Response;
}
type GeneratedClient = Record<string, (options: CallOptions) => Promise<Called>>;

/** One agent's use of the generated client: a function of it by its name, with the agent's key. */
type Calls = (name: string, options?: Omit<CallOptions, "baseUrl" | "auth">) => Promise<Called>;

/** A transaction as an answer prepares it. */
interface PreparedCall {
  to: Hex;
  data: Hex;
  value: string;
  chainId: number;
}

describe("a client generated from /openapi.json", () => {
  let stack: FullStack;
  let generated: GeneratedClient;
  let folder: string;

  before(async () => {
    stack = await openFullStack();
    folder = mkdtempSync(join(tmpdir(), "generated-client-"));
    const input = (await (await fetch(`${stack.url}/openapi.json`)).json()) as Record<string, unknown>;
    await createClient({
      input,
      output: { path: folder, module: { extension: ".ts" } },
      plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
      logs: { level: "silent", file: false },
    });
    generated = (await import(pathToFileURL(join(folder, "index.ts")).href)) as GeneratedClient;
  });
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  function callsWith(key: string | undefined): Calls {
    const auth = key === undefined ? {} : { auth: key };
    return async (name, options = {}) => {
      const call = generated[name];
      assert.ok(call !== undefined, `${name} was not generated`);
      const called = await call({ baseUrl: stack.url, ...auth, ...options });
      assert.ok(called.response.ok, `${name}: ${called.response.status} ${JSON.stringify(called.error)}`);
      return called;
    };
  }

  /** Registers a wallet, by what the document says about the message to sign. */
  async function register(wallet: Wallet, agentName: string): Promise<Calls> {
    const stranger = callsWith(undefined);
    const { address } = wallet.account;
    const { data: known } = await stranger("networksList");
    const [{ chainId }] = known.data as [{ chainId: number }];
    const message = createSiweMessage({
      domain: new URL(stack.url).host,
      uri: stack.url,
      version: "1",
      chainId,
      address,
      issuedAt: new Date(),
      nonce: randomBytes(12).toString("hex"),
      statement: "I register this wallet.",
    });
    const signature = await wallet.signMessage({ account: wallet.account, message });
    const { data } = await stranger("agentsRegister", {
      body: { agentName, walletAddress: address, message, signature },
    });
    return callsWith(data.apiKey as string);
  }

  /** Sends a prepared call as it is, and returns the hash of its transaction once that is in a block. */
  async function send(wallet: Wallet, { to, data, value, chainId }: PreparedCall): Promise<Hex> {
    assert.strictEqual(chainId, wallet.chain.id);
    const hash = await wallet.sendTransaction({
      account: wallet.account,
      chain: wallet.chain,
      to,
      data,
      value: BigInt(value),
    });
    assert.strictEqual((await stack.chain.client.waitForTransactionReceipt({ hash })).status, "success");
    return hash;
  }

  it("compiles under strict settings, and has no type that is named after a path", async () => {
    const settings = ["--ignoreConfig", "--strict", "--noEmit", "--skipLibCheck", "--allowImportingTsExtensions"];
    const target = ["--target", "esnext", "--module", "nodenext"];
    const tsc = ["node_modules/typescript/bin/tsc", ...settings, ...target, join(folder, "index.ts")];
    const { code, output } = await run(process.execPath, tsc, { capture: true });
    assert.strictEqual(code, 0, output);
    const types = [...readFileSync(join(folder, "types.gen.ts"), "utf8").matchAll(/^export type (\w+)/gm)];
    assert.isAbove(types.length, 300);
    for (const [, name] of types) assert.notMatch(name ?? "", /^(Get|Post|Patch|Put|Delete)[A-Z]|V1/);
  });

  it("[S4.303] completes a deal: the answers have all that a wallet needs", async () => {
    const [buyerWallet, sellerWallet] = [await stack.newWallet(10_000_000n), await stack.newWallet()];
    const buyer = await register(buyerWallet, "A stranger who buys");
    const seller = await register(sellerWallet, "A stranger who sells");
    const { data: listed } = await seller("listingsCreate", {
      body: {
        title: "Haiku",
        description: "Writes a haiku about a block.",
        category: "multimodal_generation",
        price: 0.5,
        priceUnit: "flat",
        callbackRequired: false,
        deliveryType: "async",
      },
    });

    const { data: checkedOut } = await buyer("checkoutCreate", {
      body: { serviceId: listed.data.id, paymentMethod: "usdc", requestPayload: { about: "block 1" } },
    });
    const { transactionId, paymentInstructions } = checkedOut.data;
    const path = { id: transactionId as string };
    let txHash: Hex | undefined;
    for (const call of paymentInstructions.calls as PreparedCall[]) txHash = await send(buyerWallet, call);
    const { data: funded } = await until("the funding is verified", async () => {
      const answer = await buyer("transactionsFund", { path, body: { txHash } });
      return answer.response.status === 200 && answer;
    });
    assert.strictEqual(funded.data.status, "funded");

    const job = await until("the seller sees the job", async () => {
      const { data } = await seller("jobsList", { query: { status: "funded" } });
      return (data.data as { transactionId: string; requestPayload: unknown }[]).find(
        (entry) => entry.transactionId === transactionId,
      );
    });
    assert.deepEqual(job.requestPayload, { about: "block 1" });
    const body = { responsePayload: { haiku: "A block, then silence" } };
    const { data: handedIn } = await seller("transactionsDeliver", { path, body });
    await send(sellerWallet, handedIn.data.submitDelivery as PreparedCall);

    const accept = await until("the buyer may accept", async () => {
      const { data } = await buyer("transactionsRead", { path });
      const actions = data.data.actions as (PreparedCall & { action: string })[];
      return actions.find(({ action }) => action === "accept");
    });
    await send(buyerWallet, accept);
    const released = await until("the release is indexed", async () => {
      const { data } = await buyer("transactionsRead", { path });
      return data.data.status === "released" && data.data;
    });
    const { data: confirmed } = await buyer("transactionsConfirm", { path });
    assert.strictEqual(confirmed.data.status, "released");
    assert.deepEqual(released.responsePayload, body.responsePayload);
    assert.strictEqual(released.proofVerified, true);
    assert.strictEqual(await stack.chain.usdcOf(sellerWallet.account.address), BigInt(released.lockedAmount as string));
    const { data: score } = await callsWith(undefined)("scoresRead", {
      query: { address: sellerWallet.account.address },
    });
    assert.strictEqual(score.onChainScore, 1);
  });
});
