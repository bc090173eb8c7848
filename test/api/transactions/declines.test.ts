// Declines before the deadline: which of them count, as what share, and where it shows.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import { getAddress } from "viem";

import { declinedPipeline, endedPipeline } from "../../../api/features/transactions/declines.ts";
import { CHECKOUT_OUTCOMES_INDEX } from "../../../api/features/transactions/model.ts";
import { declineRecordsOf } from "../../../api/features/transactions/module.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";

const CREATED = 1_700_000_000;
const QUOTE_END = CREATED + 900;
const DEADLINE = CREATED + 86_400;

/** How an escrow ended. */
interface Ended {
  status?: string;
  buyer?: number;
  unsolicited?: boolean;
  createdAt?: number;
  settledAt?: number;
  network?: string;
}

describe("declines before the deadline", () => {
  let api: TestApi;
  let seller: TestAgent;

  before(async () => {
    api = await startTestApi();
  });
  beforeEach(async () => {
    seller = await api.registerAgent();
  });
  after(() => api.close());

  const models = () => api.container.features.transactions.models;
  const walletOf = (n: number) => getAddress(`0x${(0xb0 + n).toString(16).padStart(40, "0")}`);

  /** Stores escrows of the seller as the follower leaves them. */
  async function store(...escrows: Ended[]): Promise<void> {
    const records = escrows.map((escrow) => {
      const { status = "refunded", buyer = 1, unsolicited = false, network = "base-sepolia" } = escrow;
      const { createdAt = CREATED, settledAt = DEADLINE } = escrow;
      return {
        _id: `txn_${randomBytes(12).toString("hex")}`,
        escrowId: `0x${randomBytes(32).toString("hex")}`,
        network,
        unsolicited,
        status,
        sellerAddress: seller.walletAddress,
        buyerAddress: walletOf(buyer),
        deadline: DEADLINE,
        quoteExpiresAt: unsolicited ? null : QUOTE_END,
        escrow: { createdAt, settledAt },
      };
    });
    await models().transactions.collection.insertMany(records as never[]);
  }

  /** What the trust record says, and what the ranking reads once the standings are synced. */
  async function seen(): Promise<[declines: number, share: number]> {
    const path = `/api/v1/agents/${seller.agentId}/trust`;
    const { body, text } = await api.request("GET", path, { key: seller.apiKey });
    assert.ok(body.success, text);
    const { standings } = api.container.services;
    await standings.sync("base-sepolia", [seller.walletAddress]);
    const copies = await standings.of("base-sepolia", [seller.walletAddress]);
    const { outcomes, earlyDeclineShare } = body.data;
    assert.strictEqual(copies.get(seller.walletAddress.toLowerCase())?.earlyDeclineShare, earlyDeclineShare);
    return [outcomes.earlyDeclines, earlyDeclineShare];
  }

  const released = (buyer: number): Ended => ({ status: "released", buyer });
  const declined = (buyer: number): Ended => ({ buyer });
  /** Three declines of three buyers among six escrows: a share of a half. */
  const HALF = [1, 2, 3].flatMap((buyer) => [declined(buyer), released(buyer)]);

  it("[D6] of a seller without any are 0", async () => {
    await store(released(1), released(2), released(3));
    assert.deepEqual(await seen(), [0, 0]);
  });

  it("[D6] count as a share of the escrows from a checkout that have ended", async () => {
    await store(...HALF);
    assert.deepEqual(await seen(), [3, 0.5]);
    await store({ status: "resolved", buyer: 4 }, { status: "abandoned", buyer: 5 });
    assert.deepEqual(await seen(), [3, 3 / 8]);
  });

  it("[D6] of one or two buyers are shown and change no share, however many they are", async () => {
    await store(...Array.from({ length: 20 }, (_, n) => declined(1 + (n % 2))), released(3));
    assert.deepEqual(await seen(), [20, 0]);
    await store(declined(3));
    assert.deepEqual(await seen(), [21, 21 / 22]);
  });

  const uncounted: [what: string, escrow: Ended][] = [
    ["nobody checked out", { unsolicited: true }],
    ["were funded after their quote's end", { createdAt: QUOTE_END + 1 }],
    ["were declined after the deadline", { settledAt: DEADLINE + 1 }],
    ["are of another network", { network: "base" }],
  ];
  for (const [what, escrow] of uncounted) {
    it(`[D6] don't include escrows that ${what}`, async () => {
      await store(...[1, 2, 3, 4].map((buyer) => ({ ...escrow, buyer })), released(1));
      assert.deepEqual(await seen(), [0, 0]);
      await store(...HALF);
      const [count, share] = await seen();
      // What isn't a decline in time is still an order that ended; what nobody ordered in time isn't.
      assert.deepEqual([count, share], [3, escrow.settledAt === undefined ? 3 / 7 : 3 / 11]);
    });
  }

  it("[D6] include the last second of quote and deadline, and don't count while the escrow is open", async () => {
    await store(...[1, 2, 3].map((buyer) => ({ buyer, createdAt: QUOTE_END, settledAt: DEADLINE })));
    assert.deepEqual(await seen(), [3, 1]);
    const open = { status: "funded", escrow: { createdAt: CREATED, settledAt: null } };
    await models().transactions.collection.updateMany({ sellerAddress: seller.walletAddress }, { $set: open });
    assert.deepEqual(await seen(), [0, 0]);
  });

  it("[D6] are counted from an index alone, for many wallets at once", async () => {
    await store(...HALF);
    const { connection } = api.container;
    const records = await declineRecordsOf(connection)("base-sepolia", [
      ...[walletOf(1), seller.walletAddress, walletOf(2)],
    ]);
    assert.deepEqual(
      [...records],
      [[seller.walletAddress.toLowerCase(), { earlyDeclines: 3, earlyDeclineShare: 0.5 }]],
    );
    for (const pipelineOf of [declinedPipeline, endedPipeline]) {
      const plan = await models()
        .transactions.aggregate(pipelineOf("base-sepolia", [seller.walletAddress]))
        .hint(CHECKOUT_OUTCOMES_INDEX)
        .explain("executionStats");
      const text = JSON.stringify(plan);
      assert.notMatch(text, /"stage":"(FETCH|COLLSCAN)"/);
      assert.include(text, `"indexName":"${CHECKOUT_OUTCOMES_INDEX}"`);
      assert.include(text, '"totalDocsExamined":0');
    }
  });
});
