import { assert } from "chai";
import { decodePaymentRequiredHeader, encodePaymentRequiredHeader } from "@x402/core/http";

import { ApiError, ArgumentError, collect, Marketplace, RefusedError } from "../../sdk/src/index.ts";
import type { Agent, PaymentOptions, Wallet } from "../../sdk/src/index.ts";
import { Payments } from "../../sdk/src/payments.ts";
import type { TestAgent } from "../fixtures/api.ts";
import { listing } from "../fixtures/full-stack.ts";
import { CALL_UNITS, startPaidApi, THOUSAND_USDC } from "../fixtures/payments.ts";
import type { PaidApi } from "../fixtures/payments.ts";
import { rejectionOf } from "../fixtures/rejection.ts";
import { until } from "../fixtures/until.ts";

const ONE_CALL = CALL_UNITS.api;
const ELSEWHERE = `0x${"12".repeat(20)}`;
const BOUNDS = { maxPerCallUsd: 10_000n, maxPerDayUsd: 1_000_000n };

describe("the client's payments", () => {
  let paid: PaidApi;
  let payer: TestAgent;
  let wallet: Wallet;
  let signatures: number;
  before(async () => {
    paid = await startPaidApi();
  });
  beforeEach(async () => {
    payer = await paid.richAgent();
    signatures = 0;
    const real = paid.chain.walletOf(payer.account);
    wallet = {
      ...real,
      signTypedData: (typed: never) => {
        signatures += 1;
        return real.signTypedData(typed);
      },
    } as unknown as Wallet;
  });
  after(() => paid.close());

  const spent = async () => THOUSAND_USDC - (await paid.chain.usdcOf(payer.walletAddress));
  const agentWith = (bounds: Partial<PaymentOptions> = {}, fetch?: typeof globalThis.fetch, of = payer): Agent => {
    const payments = { wallet, ...BOUNDS, ...bounds };
    const retry = { baseDelayMs: 1, maxDelayMs: 2 };
    const market = new Marketplace({ url: paid.url, payments, fetch, retry });
    return market.agent({ apiKey: of.apiKey, wallet: paid.chain.walletOf(of.account) });
  };
  const read = (agent: Agent) => collect(agent.listings.list({ sellerId: payer.agentId }));

  it("[D36] pay for a call whose budget is used up, once each", async () => {
    const agent = agentWith();
    assert.deepEqual(await read(agent), []);
    assert.strictEqual(await spent(), ONE_CALL);
    await read(agent);
    assert.deepEqual([signatures, await spent()], [2, 2n * ONE_CALL]);
  });

  it("are made with the request's idempotency key, and once however often it is repeated", async () => {
    let lost = 0;
    const losesPaidAnswers: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      if (!new Headers(init?.headers).has("payment-signature") || lost === 2) return answer;
      lost += 1;
      throw new TypeError("fetch failed");
    };
    const agent = agentWith({}, losesPaidAnswers);
    const once = { idempotencyKey: `listing-${payer.agentId}` };
    const { id } = await agent.listings.create(listing(), once);
    assert.deepEqual([lost, signatures, await spent()], [2, 1, ONE_CALL]);
    assert.strictEqual((await agentWith().listings.create(listing(), once)).id, id);
    assert.deepEqual([signatures, await spent()], [1, ONE_CALL]);
    const collection = paid.api.container.connection.collection("listings");
    assert.strictEqual(await collection.countDocuments({ sellerAgentId: payer.agentId }), 1);
  });

  it("repeat a request that has no key with its own payment", async () => {
    let cut = false;
    const cutsOnce: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      if (cut || !new Headers(init?.headers).has("payment-signature")) return answer;
      cut = true;
      throw new TypeError("fetch failed");
    };
    const agent = agentWith({}, cutsOnce);
    const body = listing() as unknown as object;
    assert.strictEqual((await agent.request({ method: "POST", path: "/api/v1/services", body })).status, 201);
    assert.deepEqual([cut, signatures, await spent()], [true, 1, ONE_CALL]);
  });

  it("stay within the bound of a call", async () => {
    const error = await rejectionOf(read(agentWith({ maxPerCallUsd: ONE_CALL - 1n })), RefusedError);
    assert.strictEqual(error.message, "GET /api/v1/services isn't paid for: $0.0001 is above maxPerCallUsd, $0.000099");
    assert.strictEqual((error.cause as ApiError).status, 402);
    assert.deepEqual([signatures, await spent()], [0, 0n]);
  });

  it("stay within the bound of a day, also when calls race", async () => {
    const agent = agentWith({ maxPerDayUsd: 3n * ONE_CALL + 1n });
    const answers = await Promise.allSettled(Array.from({ length: 8 }, () => read(agent)));
    const refused = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason as Error] : []));
    assert.deepEqual([refused.length, signatures, await spent()], [5, 3, 3n * ONE_CALL]);
    for (const error of refused) {
      assert.instanceOf(error, RefusedError);
      assert.match(error.message, /\$0\.0001 is above the \$0\.000001 left today of maxPerDayUsd, \$0\.000301$/);
    }
  });

  it("aren't made for an agent of another wallet, nor without being asked for", async () => {
    const other = await paid.richAgent();
    assert.strictEqual((await rejectionOf(read(agentWith({}, undefined, other)), ApiError)).status, 402);
    const agent = new Marketplace({ url: paid.url }).agent({ apiKey: payer.apiKey });
    assert.strictEqual((await rejectionOf(read(agent), ApiError)).status, 402);
    assert.strictEqual(signatures, 0);
  });

  it("buy packs, which are drawn before anything else is paid for", async () => {
    const { packs, account } = agentWith({ maxPerCallUsd: 10n * ONE_CALL });
    const offered = await packs.list();
    const pack = offered.find(({ packId }) => packId === "api-10");
    assert.deepEqual([pack?.calls, pack?.class, pack?.priceUsd], [10, "api", 10n * ONE_CALL]);
    assert.strictEqual((await packs.buy("api-10")).priceUsd, 10n * ONE_CALL);
    assert.strictEqual(await spent(), 10n * ONE_CALL);
    await until("the calls are credited", async () => (await account.usage()).prepaid.api === 10);
    await read(agentWith());
    assert.deepEqual([signatures, await spent()], [1, 10n * ONE_CALL]);
    const { message } = await rejectionOf(packs.buy("search-10"), RefusedError);
    assert.include(message, "$0.1 is above maxPerCallUsd, $0.001");
    assert.strictEqual((await rejectionOf(packs.buy("api-11"), ApiError)).code, "not_found");
  });

  describe("refuse a demand", () => {
    const lies: [what: string, change: Record<string, unknown>][] = [
      ["to another recipient", { payTo: ELSEWHERE }],
      ["in another token", { asset: ELSEWHERE }],
      ["on another network", { network: "eip155:8453" }],
      ["by another scheme", { scheme: "upto" }],
      ["that gives an allowance", { extra: { name: "USDC", version: "2", assetTransferMethod: "permit2" } }],
      ["of nothing", { amount: "0" }],
      ["of a negative amount", { amount: "-1" }],
      ["of an amount in another notation", { amount: "0x64" }],
      ["above the bound", { amount: "10001" }],
      ["with no domain to sign in", { extra: undefined }],
    ];
    for (const [what, change] of lies) {
      it(`${what}, before anything is signed`, async () => {
        const liar: typeof fetch = async (input, init) => {
          const answer = await fetch(input, init);
          const demand = answer.headers.get("payment-required");
          if (demand === null) return answer;
          const decoded = decodePaymentRequiredHeader(demand);
          const accepts = decoded.accepts.map((offer) => ({ ...offer, ...change })) as typeof decoded.accepts;
          const headers = new Headers(answer.headers);
          headers.set("payment-required", encodePaymentRequiredHeader({ ...decoded, accepts }));
          return new Response(await answer.text(), { status: answer.status, headers });
        };
        const { message } = await rejectionOf(read(agentWith({}, liar)), RefusedError);
        assert.match(message, /^GET \/api\/v1\/services isn't paid for: /);
        assert.deepEqual([signatures, await spent()], [0, 0n]);
      });
    }

    it("that can't be read", async () => {
      const garbled: typeof fetch = async (input, init) => {
        const answer = await fetch(input, init);
        if (answer.status !== 402) return answer;
        const headers = new Headers(answer.headers);
        headers.set("payment-required", "bm90IGpzb24=");
        return new Response(await answer.text(), { status: 402, headers });
      };
      assert.include((await rejectionOf(read(agentWith({}, garbled)), RefusedError)).message, "can't be read");
    });
  });

  it("count by UTC days, in which a clock that is set back begins none of its own", async () => {
    const midnight = Date.UTC(2030, 0, 2);
    let now = midnight - 1;
    const market = new Marketplace({ url: paid.url });
    const options = { wallet, maxPerCallUsd: ONE_CALL, maxPerDayUsd: ONE_CALL };
    const payments = new Payments(
      options,
      () => market.networks(),
      () => now,
    );
    const answer = await fetch(`${paid.url}/api/v1/services`, { headers: { "x-api-key": payer.apiKey } });
    const failure = { method: "GET", path: "/", status: 402, body: "", retryAfterSeconds: undefined };
    const sign = () => payments.sign(new ApiError(failure), answer.headers);
    await sign();
    await rejectionOf(sign(), RefusedError);
    now = midnight;
    await sign();
    now = midnight - 1;
    await rejectionOf(sign(), RefusedError);
    now = midnight + 86_399_999;
    await rejectionOf(sign(), RefusedError);
    assert.strictEqual(signatures, 2);
  });

  it("give back what a wallet didn't sign", async () => {
    let refuses = true;
    const reluctant = {
      ...wallet,
      signTypedData: (typed: never) => (refuses ? Promise.reject(new Error("not now")) : wallet.signTypedData(typed)),
    } as Wallet;
    const agent = agentWith({ wallet: reluctant, maxPerDayUsd: ONE_CALL });
    assert.match((await rejectionOf(read(agent), RefusedError)).message, /not now/);
    refuses = false;
    await read(agent);
    assert.strictEqual(await spent(), ONE_CALL);
  });

  it("take only bounds that hold", () => {
    const faults: [argument: string, change: object][] = [
      ["payments.maxPerCallUsd", { maxPerCallUsd: 0.01 }],
      ["payments.maxPerDayUsd", { maxPerDayUsd: NaN }],
      ["payments.maxPerDayUsd", { maxPerDayUsd: undefined }],
      ["payments.wallet", { wallet: payer.privateKey }],
    ];
    for (const [argument, change] of faults) {
      const payments = { wallet, ...BOUNDS, ...change };
      assert.throws(() => new Marketplace({ url: paid.url, payments }), ArgumentError, argument);
    }
  });
});
