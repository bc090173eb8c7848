import { assert } from "chai";
import { getAddress } from "viem";

import type { Network } from "../../../api/config/constants.ts";
import { createIndexer } from "../../../api/indexer/indexer-client.ts";
import type { Indexer } from "../../../api/indexer/indexer-client.ts";
import type { IndexedAgentDay } from "../../../api/indexer/schemas.ts";
import { assertError, readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { act, checkOut, createEscrow, deliverDeal, fund, openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { openChain, tokenFlows, treasuryOf } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const PATH = "/api/v1/agents/fee-tier";
const ONE_USD = 1_000_000n;
const DAY_MS = 86_400_000;
/** 22 November 2026, noon UTC: the window and the month start on different days. */
const NOON = new Date("2026-11-22T12:00:00Z");
const dayOf = (date: string): number => Date.parse(date) / DAY_MS;

describe("fee tier", () => {
  /** Days that the mainnet's subgraph reports for every wallet. */
  let days: IndexedAgentDay[] = [];
  let asked: { wallet: string; fromDay: number } | undefined;
  let isDown = false;

  /** The stack's subgraphs, with a test's days and time on the mainnet. */
  async function indexersWithDays(): Promise<Record<Network, Indexer>> {
    const { networks } = await readStack();
    const of = (network: Network) =>
      createIndexer({ network, url: isDown ? "http://127.0.0.1:1/" : networks[network].subgraphUrl, attempts: 1 });
    const mainnet = of("base");
    return {
      "base-sepolia": of("base-sepolia"),
      base: {
        ...mainnet,
        head: async () => ({ ...(await mainnet.head()), timestamp: 0 }),
        agentDays: async (wallet, fromDay) => {
          asked = { wallet, fromDay };
          const { block } = await mainnet.agentDays(wallet, fromDay);
          return { block, days: days.filter(({ day }) => day >= fromDay) };
        },
      },
    };
  }
  const sold = (date: string, soldUsd: bigint): IndexedAgentDay => {
    return { day: dayOf(date), soldCount: 1, soldUsd, soldFeeUsd: soldUsd / 50n };
  };

  describe("by volume", () => {
    let api: TestApi;
    let agent: TestAgent;
    before(async () => {
      isDown = false;
      api = await startTestApi({ indexers: await indexersWithDays(), clock: { now: () => NOON } });
      agent = await api.registerAgent({ message: { issuedAt: NOON } });
    });
    after(() => api.close());

    const read = async () => {
      const { status, body, text } = await api.request("GET", PATH, { key: agent.apiKey });
      assert.strictEqual(status, 200, text);
      return body.data;
    };

    it("[S4.r16] [S4.r16.1] [D22] an agent without settlements is Standard, with the data of its rolling window", async () => {
      days = [];
      const { indexedBlock, ...data } = await read();
      assert.deepEqual(data, {
        tier: "Standard",
        effectiveRate: "2.0%",
        effectiveRateBps: 200,
        windowDays: 30,
        windowStart: "2026-10-24T00:00:00.000Z",
        windowEnd: "2026-11-23T00:00:00.000Z",
        settledVolumeUsd: "0",
        nextTier: {
          tier: "Growth",
          effectiveRate: "1.5%",
          effectiveRateBps: 150,
          fromUsd: 100_000,
          remainingUsd: "100000",
        },
        rebateAccruedUsd: "0",
        network: "base",
      });
      assert.ok(indexedBlock > 0);
      assert.deepEqual(asked, { wallet: getAddress(agent.walletAddress), fromDay: dayOf("2026-10-24") });
    });

    const bounds = [
      { id: "S2.9.03", tier: "Standard", rate: "2.0%", usd: ["0", "0.000001", "99999.999999"] },
      { id: "S2.9.04", tier: "Growth", rate: "1.5%", usd: ["100000", "100000.000001", "499999.999999"] },
      { id: "S2.9.05", tier: "Scale", rate: "1.0%", usd: ["500000", "500000.000001", "999999.999999"] },
      { id: "S2.9.06", tier: "Enterprise", rate: "0.5%", usd: ["1000000", "1000000.000001", "900000000"] },
    ];
    for (const { id, tier, rate, usd } of bounds) {
      it(`[${id}] [D22] ${tier} (${rate}) from ${usd[0] ?? ""} to ${usd.at(-1) ?? ""} US dollars`, async () => {
        for (const volume of usd) {
          const [whole = "", fraction = ""] = volume.split(".");
          days = [sold("2026-11-22", BigInt(whole) * ONE_USD + BigInt(fraction.padEnd(6, "0")))];
          const data = await read();
          assert.deepEqual([data.tier, data.effectiveRate, data.settledVolumeUsd], [tier, rate, volume]);
        }
      });
    }

    it("says what the next tier takes, and that there is none above Enterprise", async () => {
      days = [sold("2026-11-22", 400_000n * ONE_USD + 1n)];
      assert.deepEqual((await read()).nextTier, {
        tier: "Scale",
        effectiveRate: "1.0%",
        effectiveRateBps: 100,
        fromUsd: 500_000,
        remainingUsd: "99999.999999",
      });
      days = [sold("2026-11-22", 1_000_000n * ONE_USD)];
      assert.strictEqual((await read()).nextTier, null);
    });

    it("[D22] adds the 30 days up to today: the first of them counts, the day before doesn't", async () => {
      days = [sold("2026-10-24", 60_000n * ONE_USD), sold("2026-11-22", 40_000n * ONE_USD)];
      assert.strictEqual((await read()).tier, "Growth");
      days = [sold("2026-10-23", 60_000n * ONE_USD), sold("2026-11-22", 40_000n * ONE_USD)];
      assert.deepEqual([(await read()).tier, (await read()).settledVolumeUsd], ["Standard", "40000"]);
    });

    it("[D22] accrues the rebate on the fees of this month alone, by the rate of the tier, rounded down", async () => {
      // Growth gives a quarter of the fee back.
      days = [sold("2026-10-31", 100_000n * ONE_USD), { ...sold("2026-11-01", 0n), soldFeeUsd: 7n }];
      assert.deepEqual([(await read()).tier, (await read()).rebateAccruedUsd], ["Growth", "0.000001"]);
      const fees = 2_000n * ONE_USD;
      for (const [volume, rebate] of [
        [99_999n, "0"],
        [100_000n, "500"],
        [500_000n, "1000"],
        [1_000_000n, "1500"],
      ] as const) {
        days = [{ ...sold("2026-11-22", volume * ONE_USD), soldFeeUsd: fees }];
        assert.strictEqual((await read()).rebateAccruedUsd, rebate);
      }
    });
  });

  describe("of real settlements", () => {
    let api: TestApi;
    let mainnet: TestChain;
    let market: Market;
    before(async () => {
      api = await startTestApi();
      mainnet = await openChain("base");
      market = await openMarket(api, mainnet, { network: "base", price: 5 });
      const testnet = await openChain("base-sepolia");
      await testnet.raiseScore(market.buyer.walletAddress, 10);
    });
    after(() => api.close());

    async function settle(on: Market): Promise<void> {
      const checkout = await checkOut(on);
      const { transactionHash } = await createEscrow(on, checkout);
      await fund(on, checkout, transactionHash);
      await deliverDeal(on, checkout.transactionId);
      await act(on.api, mainnet, on.buyer, checkout.transactionId, "accept");
    }
    const volumeOf = async ({ apiKey }: TestAgent): Promise<unknown> =>
      (await api.request("GET", PATH, { key: apiKey })).body.data.settledVolumeUsd;

    it("counts what a mainnet deal paid the seller, and nothing for its buyer", async () => {
      await settle(market);
      const settled = async () => (await volumeOf(market.seller)) === "5";
      await until("the subgraph has the settlement", settled);
      assert.strictEqual(await volumeOf(market.buyer), "0");
    });

    it("[S2.9.01] the fee on chain is 2% for a seller of the highest tier too", async () => {
      days = [];
      isDown = false;
      const scaled = await startTestApi({ indexers: await indexersWithDays() });
      try {
        days = [{ ...sold("2026-11-22", 0n), day: 1_000_000, soldUsd: 2_000_000n * ONE_USD }];
        const rich = await openMarket(scaled, mainnet, { network: "base", price: 5 });
        const testnet = await openChain("base-sepolia");
        await testnet.raiseScore(rich.buyer.walletAddress, 10);
        const { body } = await scaled.request("GET", PATH, { key: rich.seller.apiKey });
        assert.deepEqual([body.data.tier, body.data.effectiveRate], ["Enterprise", "0.5%"]);
        const checkout = await checkOut(rich);
        assert.strictEqual(checkout.paymentInstructions.platformFee, "100000");
        const receipt = await createEscrow(rich, checkout);
        assert.strictEqual(tokenFlows(receipt).get(await treasuryOf(mainnet)), 100_000n);
      } finally {
        await scaled.close();
      }
    });
  });

  describe("errors and security", () => {
    it("needs a key, and is 503 while the mainnet's subgraph is down", async () => {
      isDown = true;
      const api = await startTestApi({ indexers: await indexersWithDays() });
      try {
        assertError(await api.request("GET", PATH), 401, "invalid_api_key");
        const { apiKey } = await api.registerAgent();
        const answer = await api.request("GET", PATH, { key: apiKey });
        assertError(answer, 503, "indexer_unavailable");
        assert.strictEqual(answer.body.details.network, "base");
        assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/);
      } finally {
        await api.close();
      }
    });
  });
});
