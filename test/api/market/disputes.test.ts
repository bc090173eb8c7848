// What anyone sees of disputes that have ended: the chain's facts, and none of a ruling's text.
import { assert } from "chai";

import { hashRationale } from "../../../api/features/disputes/ruling-document.ts";
import { disputeIdOf } from "../../../api/features/transactions/dispute-id.ts";
import { assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { readsOf } from "../../fixtures/profile.ts";

const PATH = "/api/v1/market/disputes";
const NOW = Math.floor(Date.now() / 1_000);
const DAY = 86_400;
const DOCUMENT = '{"reasons":["secret-reason"]}';
const ENDS = [
  ["BuyerRefund", 100, "ruling", "system"],
  ["SellerPaid", 0, "ruling", "system"],
  ["Split", 30, "ruling", "admin"],
  ["Split", 50, "agreement", null],
  ["BuyerRefund", 100, "timeout", null],
] as const;

describe("GET /api/v1/market/disputes", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ timings: { publicAnswerMs: 0 } });
  });
  after(() => api.close());

  const idOf = (n: number) => `txn_${String(n).padStart(32, "0")}`;
  const escrowOf = (n: number) => `0x${n.toString(16).padStart(64, "0")}`;

  /** Stores a resolved deal as the follower does. The higher its number, the longer ago it ended. */
  async function end(n: number, network = "base-sepolia", settledAt = NOW - 60 * n): Promise<void> {
    const [outcome, buyerPercent, resolutionMethod, resolvedBy] = ENDS[n % ENDS.length] ?? ENDS[0];
    const rationaleHash = resolutionMethod === "ruling" ? hashRationale(DOCUMENT) : `0x${"0".repeat(64)}`;
    const escrow = { outcome, buyerPercent, resolutionMethod, resolvedBy, rationaleHash, settledAt };
    await api.container.features.transactions.models.transactions.collection.insertOne({
      _id: idOf(n),
      escrowId: escrowOf(n),
      unsolicited: false,
      network,
      status: "resolved",
      criteriaJson: '{"private":"criteria"}',
      escrow: { ...escrow, valueUsd: "2500000", disputedAt: settledAt - 3_600 - n, state: "Resolved" },
    } as never);
  }

  const storeRuling = (n: number, documentJson: string) =>
    api.container.features.disputes.models.disputes.collection.insertOne({
      _id: disputeIdOf({ _id: idOf(n) }),
      escrowId: escrowOf(n),
      ruling: { documentJson },
      reason: { text: "secret-complaint" },
    } as never);

  const read = async (query = ""): Promise<any> => {
    const { status, body, text } = await api.request("GET", PATH + query);
    assert.strictEqual(status, 200, text);
    for (const secret of ["secret-", "private", "txn_", "dsp_"]) assert.notInclude(text, secret);
    return body;
  };

  it("shows outcome, shares and whether the stored document hashes to what is on chain", async () => {
    assert.deepEqual(await read(), { success: true, data: [], nextCursor: null, statistics: null });
    for (let n = 0; n < 4; n += 1) await end(n);
    await storeRuling(0, DOCUMENT);
    await storeRuling(1, `${DOCUMENT} `);
    const { data, statistics } = await read();
    assert.isNull(statistics, "too few");
    assert.deepEqual(data[0], {
      escrowId: escrowOf(0),
      network: "base-sepolia",
      valueUsd: "2.5",
      outcome: "BuyerRefund",
      buyerPercent: 100,
      resolvedBy: "system",
      resolutionMethod: "ruling",
      rationaleHash: hashRationale(DOCUMENT),
      document: "matches",
      disputedAt: new Date((NOW - 3_600) * 1_000).toISOString(),
      settledAt: new Date(NOW * 1_000).toISOString(),
    });
    assert.deepEqual(
      data.map(({ document, rationaleHash }: any) => [document, rationaleHash === null]),
      [
        ["matches", false],
        ["differs", false],
        ["not_kept", false],
        [null, true],
      ],
    );
  });

  it("counts how the disputes of the last 30 days ended, by network", async () => {
    for (let n = 4; n < 10; n += 1) await end(n, n === 9 ? "base" : "base-sepolia");
    await end(20, "base", NOW - 31 * DAY);
    const { since, ...counts } = (await read()).statistics;
    assert.approximately(Date.parse(since), Date.now() - 30 * DAY * 1_000, 60_000);
    assert.deepEqual(counts, {
      ended: 10,
      outcomes: { buyer: 4, seller: 2, split: 4 },
      methods: { ruling: 4, admin: 2, agreement: 2, timeout: 2 },
      medianSeconds: 3_604,
    });
    assert.strictEqual((await read("?network=base-sepolia")).statistics.ended, 9);
    assert.isNull((await read("?network=base")).statistics);
  });

  it("pages through both networks or one, reading little more than it answers", async () => {
    // Two that ended in the same second.
    await end(11, "base", NOW - 60 * 8);
    for (const [query, expected] of [
      ["limit=3", [0, 1, 2, 3, 4, 5, 6, 7, 11, 8, 9, 20]],
      ["limit=1&network=base", [11, 9, 20]],
    ] as const) {
      const found: string[] = [];
      for (let cursor: string | null = ""; cursor !== null;) {
        const page: any = await read(`?${query}${cursor && `&cursor=${cursor}`}`);
        if (cursor !== "") assert.isNull(page.statistics);
        found.push(...page.data.map(({ escrowId }: any) => escrowId as string));
        cursor = page.nextCursor;
      }
      assert.deepEqual(found, expected.map(escrowOf));
    }
    const reads = await readsOf(api.container.connection, "transactions", () => read("?limit=3"));
    assert.lengthOf(reads, 2);
    for (const { documents } of reads) assert.isAtMost(documents, 4);
    assert.include(
      reads.map(({ documents }) => documents),
      0,
      "the statistics read no document",
    );
    for (const { sorts } of reads) assert.isFalse(sorts);
  });

  it("refuses another network and a made-up cursor by name", async () => {
    assertInvalid(await api.request("GET", `${PATH}?network=polygon`), "query.network");
    assertInvalid(await api.request("GET", `${PATH}?cursor=abc`), "query.cursor");
  });
});
