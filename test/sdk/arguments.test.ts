import { assert } from "chai";
import { createWalletClient, http } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { baseSepolia } from "viem/chains";

import { ArgumentError, isTransient, Marketplace } from "../../sdk/src/index.ts";
import type { Agent } from "../../sdk/src/index.ts";
import { rejectionOf } from "../fixtures/rejection.ts";
import { startScriptedServer } from "../fixtures/scripted-server.ts";
import type { ScriptedServer } from "../fixtures/scripted-server.ts";

const KEY = `svc_${"7".repeat(64)}`;
const PRIVATE_KEY = generatePrivateKey();
const ZERO = `0x${"0".repeat(64)}`;
const wallet = createWalletClient({
  account: privateKeyToAccount(PRIVATE_KEY),
  chain: baseSepolia,
  transport: http("http://127.0.0.1:1"),
});
const TRANSACTION = {
  transactionId: "txn_1",
  network: "base-sepolia",
  chainId: baseSepolia.id,
  escrowId: ZERO,
  escrowContract: wallet.account.address,
  buyerAddress: wallet.account.address,
  sellerAddress: wallet.account.address,
  token: wallet.account.address,
  amount: "2500000",
  lockedAmount: "2450000",
  platformFee: "50000",
  deadline: 1,
  disputeWindow: 300,
  abandonmentGrace: 3_600,
  criteriaHash: ZERO,
  quoteExpiresAt: null,
};

/** A value that the types refuse, as JavaScript callers and casts pass it. */
const untyped = (value: unknown) => value as never;

type Case = [argument: string, call: (agent: Agent, market: Marketplace) => Promise<unknown>];

const REQUEST = { method: "POST", path: "/api/v1/services", body: {} } as const;

/** Calls with one argument that can't be used. */
const CASES: readonly Case[] = [
  ["request", (agent) => agent.request(untyped("/api/v1/services"))],
  ["method", (agent) => agent.request(untyped({}))],
  ["method", (agent) => agent.request({ ...REQUEST, method: untyped("post") })],
  ["path", (agent) => agent.request({ ...REQUEST, path: untyped(undefined) })],
  ["query", (agent) => agent.request({ ...REQUEST, query: untyped("a=b") })],
  ["query.limit", (agent) => agent.request({ ...REQUEST, query: { limit: NaN } })],
  ["query.ids", (agent) => agent.request({ ...REQUEST, query: { ids: ["a", "b"] } })],
  ["body", (agent) => agent.request({ ...REQUEST, body: untyped("{}") })],
  ["body", (agent) => agent.request({ ...REQUEST, method: "GET" })],
  ["bodyText", (agent) => agent.request({ ...REQUEST, bodyText: untyped({}) })],
  ["headers.if-match", (agent) => agent.request({ ...REQUEST, headers: { "if-match": "a\nb" } })],
  ["headers.a b", (agent) => agent.request({ ...REQUEST, headers: { "a b": "c" } })],
  ["idempotencyKey", (agent) => agent.request({ ...REQUEST, idempotencyKey: "é" })],
  ["idempotencyKey", (agent) => agent.request({ ...REQUEST, idempotencyKey: "k".repeat(256) })],
  ["idempotencyKey", (agent) => agent.request({ ...REQUEST, idempotencyKey: " k" })],
  ["signal", (agent) => agent.request({ ...REQUEST, signal: untyped({ aborted: false }) })],
  ["timeoutMs", (agent) => agent.request({ ...REQUEST, timeoutMs: 0 })],
  ["retry.maxAttempts", (agent) => agent.request({ ...REQUEST, retry: { maxAttempts: NaN } })],
  ["serviceId", (agent) => agent.checkout(untyped({ service: "lst_1" }))],
  ["request", (agent) => agent.checkout(untyped(undefined))],
  ["transactionId", (agent) => agent.deal(untyped(undefined))],
  ["transactionId", (agent) => agent.deal("")],
  ["transactionId", (agent) => agent.deal("..")],
  ["id", (agent) => agent.listings.archive("")],
  ["key", (agent) => agent.memory.remove("..")],
  ["webhookId", (agent) => agent.webhooks.remove("")],
  ["wallet", (_agent, market) => market.register({ agentName: "A", wallet: untyped(PRIVATE_KEY) })],
  ["wallet", (_agent, market) => market.issueKey({ wallet: untyped({ account: wallet.account }) })],
];

describe("an argument that can't be used", () => {
  let server: ScriptedServer;
  let market: Marketplace;
  beforeEach(async () => {
    server = await startScriptedServer({ status: 200, body: { success: true, data: TRANSACTION } });
    market = new Marketplace({ url: server.url });
  });
  afterEach(() => server.close());

  for (const [index, [argument, call]] of CASES.entries()) {
    it(`is named before anything is sent: ${argument} (${index + 1})`, async () => {
      const error = await rejectionOf(call(market.agent({ apiKey: KEY, wallet }), market), ArgumentError);
      assert.strictEqual(error.argument, argument);
      assert.strictEqual(error.message.startsWith(`${argument} must be ${error.bound}, not `), true, error.message);
      assert.isFalse(isTransient(error));
      assert.strictEqual(server.seen.length, 0);
    });
  }

  it("says its bound and what was given, not that nobody answered", async () => {
    const agent = market.agent({ apiKey: KEY });
    const { message } = await rejectionOf(agent.request(untyped({})), ArgumentError);
    assert.strictEqual(message, "method must be GET, POST, PATCH, PUT, DELETE, not undefined");
    const { message: ofId } = await rejectionOf(agent.deal(".."), ArgumentError);
    assert.strictEqual(ofId, 'transactionId must be the id of a record, not ".."');
  });

  it("can't take the key to another host", async () => {
    const agent = new Marketplace({ url: "http://market.example" }).agent({ apiKey: KEY });
    for (const path of [".evil.example/x", "@evil.example/x", "api/v1/services", ""]) {
      assert.strictEqual((await rejectionOf(agent.request({ method: "GET", path }), ArgumentError)).argument, "path");
    }
  });

  it("is never shown where it may be a key", async () => {
    const asWallet = await rejectionOf(market.register({ agentName: "A", wallet: untyped(PRIVATE_KEY) }));
    assert.notInclude(asWallet.message, PRIVATE_KEY.slice(2));
    const asId = await rejectionOf(market.agent({ apiKey: KEY }).request({ method: "GET", path: KEY }));
    assert.strictEqual(
      asId.message,
      "path must be a path that begins with /, such as /api/v1/services, not a text of 68 characters",
    );
    assert.throws(
      () => market.agent({ apiKey: `${KEY} ` }),
      /^apiKey must be 1 to 255 visible ASCII characters, not what/,
    );
  });

  const settings: [argument: string, build: () => unknown][] = [
    ["options", () => new Marketplace(untyped(undefined))],
    ["url", () => new Marketplace({ url: untyped(undefined) })],
    ["url", () => new Marketplace({ url: "market.example" })],
    ["url", () => new Marketplace({ url: "file:///etc/passwd" })],
    ["publicUrl", () => new Marketplace({ url: "http://a.example", publicUrl: "a.example" })],
    ["fetch", () => new Marketplace({ url: "http://a.example", fetch: untyped({}) })],
    ["timeoutMs", () => new Marketplace({ url: "http://a.example", timeoutMs: Infinity })],
    ["retry.maxAttempts", () => new Marketplace({ url: "http://a.example", retry: { maxAttempts: 0 } })],
    ["retry.maxDelayMs", () => new Marketplace({ url: "http://a.example", retry: { maxDelayMs: -1 } })],
    ["apiKey", () => market.agent({ apiKey: untyped(undefined) })],
    ["apiKey", () => market.agent({ apiKey: "" })],
    ["wallet", () => market.agent({ apiKey: KEY, wallet: untyped({}) })],
  ];
  for (const [index, [argument, build]] of settings.entries()) {
    it(`is refused as a setting: ${argument} (${index + 1})`, () => {
      try {
        build();
      } catch (error) {
        assert.instanceOf(error, ArgumentError);
        assert.strictEqual(error.argument, argument);
        return;
      }
      assert.fail("it was taken");
    });
  }

  describe("of a deal", () => {
    async function restarted(data: object): Promise<ScriptedServer> {
      await server.close();
      const next = await startScriptedServer({ status: 200, body: { success: true, data } });
      market = new Marketplace({ url: next.url });
      return next;
    }
    const deal = () => market.agent({ apiKey: KEY, wallet }).deal("txn_1");

    it("is no share outside of 0 to 100, and no part of a percent", async () => {
      const { dispute } = await deal();
      for (const buyerPercent of [-1, 101, 40.5, NaN, untyped("40")]) {
        const error = await rejectionOf(dispute.offerSettlement({ buyerPercent }), ArgumentError);
        assert.deepEqual([error.argument, error.bound], ["buyerPercent", "a whole number from 0 to 100"]);
        assert.strictEqual((await rejectionOf(dispute.acceptSettlement(buyerPercent))).message, error.message);
      }
      assert.strictEqual(server.seen.length, 1);
    });

    it("is no limit that would never hold", async () => {
      server = await restarted({ ...TRANSACTION, quoteExpiresAt: "2030-01-01T00:00:00.000Z" });
      const opened = await deal();
      for (const maxAmount of [-1n, untyped(NaN), untyped(3_000_000)]) {
        const error = await rejectionOf(opened.authorizeFunding({ maxAmount }), ArgumentError);
        assert.strictEqual(error.argument, "maxAmount");
      }
    });

    it("is no wait without an end", async () => {
      const opened = await deal();
      for (const timeoutMs of [NaN, -1, Infinity]) {
        const error = await rejectionOf(opened.waitForStatus("funded", { timeoutMs }), ArgumentError);
        assert.strictEqual(error.argument, "timeoutMs");
      }
    });

    it("is no payload that isn't an object", async () => {
      const opened = await deal();
      for (const payload of [undefined, "done", ["done"]]) {
        assert.strictEqual(
          (await rejectionOf(opened.deliver(untyped(payload)), ArgumentError)).argument,
          "responsePayload",
        );
        assert.strictEqual(
          (await rejectionOf(opened.handOver(untyped(payload)), ArgumentError)).argument,
          "responsePayload",
        );
      }
    });
  });
});
