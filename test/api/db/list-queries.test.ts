// What the lists of services, agents, events and webhook deliveries make the database read: no more than they answer,
// regardless of how much is stored.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import { Types } from "mongoose";
import type { Connection } from "mongoose";

import { connectDatabase, createIndexes } from "../../../api/db/connection.ts";
import type { LengthModel } from "../../../api/db/lengths.ts";
import { createAgentModels } from "../../../api/features/agents/model.ts";
import type { AgentModels } from "../../../api/features/agents/model.ts";
import { nameKeyOf, registryRanges } from "../../../api/features/agents/registry.ts";
import type { RegistryQuery } from "../../../api/features/agents/registry.ts";
import { EventLog, eventsFilter } from "../../../api/features/events/log.ts";
import { eventModels } from "../../../api/features/events/model.ts";
import type { EventModel } from "../../../api/features/events/model.ts";
import { listListings } from "../../../api/features/listings/list.ts";
import type { ListingPage } from "../../../api/features/listings/list.ts";
import { listingModel } from "../../../api/features/listings/model.ts";
import type { ListingRecord } from "../../../api/features/listings/model.ts";
import { listListingsQuery } from "../../../api/features/listings/schemas.ts";
import { outboxModels } from "../../../api/features/outbox/model.ts";
import type { DispatchModel } from "../../../api/features/outbox/model.ts";
import { DISPATCH_ORDER, dispatchesFilter } from "../../../api/features/webhooks/dispatches/log.ts";
import {
  dispatchesOfEvents,
  MISSED_ORDER,
  missedFilter,
} from "../../../api/features/webhooks/dispatches/missed-events.ts";
import { dispatchListQuery } from "../../../api/features/webhooks/dispatches/schemas.ts";
import { encodeCursor } from "../../../api/http/query-params.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { readStack } from "../../fixtures/api.ts";
import { readsOf } from "../../fixtures/profile.ts";

const LISTINGS = 6_000;
const PAGE = 20;
/** How many listings have the same price. */
const SAME_PRICE = 10;
const CALLER = { agentId: "agt_caller", walletAddress: "0x0", keyId: "key_1" } as const;
/** One in this many listings has the rare category and a seller with a score, and one is paused. */
const RARE = 500;

interface Plan {
  returned: number;
  /** Documents and index entries. */
  examined: number;
  entries: number;
  sorts: boolean;
}

function planOf(explained: unknown): Plan {
  const { queryPlanner, executionStats } = explained as {
    queryPlanner: { winningPlan: object };
    executionStats: { nReturned: number; totalDocsExamined: number; totalKeysExamined: number };
  };
  return {
    returned: executionStats.nReturned,
    examined: executionStats.totalDocsExamined,
    entries: executionStats.totalKeysExamined,
    sorts: JSON.stringify(queryPlanner.winningPlan).includes('"SORT"'),
  };
}

describe("lists in the database", () => {
  let connection: Connection;

  before(async () => {
    const { mongodbUri } = await readStack();
    const log = createLogger({ level: "silent", name: "test" });
    connection = await connectDatabase(mongodbUri, log, `test_lists_${randomBytes(6).toString("hex")}`);
  });
  after(async () => {
    await connection.dropDatabase();
    await connection.close();
  });

  describe("of services", () => {
    let listings: ReturnType<typeof listingModel>;
    const walletOf = (n: number) => `0x${n.toString(16).padStart(40, "0")}` as const;
    const isRare = (n: number) => n % RARE === 0;

    before(async () => {
      listings = listingModel(connection);
      await createIndexes(connection);
      const now = new Date();
      const records = Array.from({ length: LISTINGS }, (_, n): ListingRecord => ({
        _id: `lst_${String(n).padStart(32, "0")}`,
        sellerAgentId: `agt_${n}`,
        sellerAddress: walletOf(n),
        sellerKey: walletOf(n),
        title: "Title",
        description: "Description",
        category: isRare(n) ? "pkm" : "accounting",
        // Pages start and end among equals.
        price: Types.Decimal128.fromString(String(1 + Math.floor(n / SAME_PRICE))),
        priceUnit: "flat",
        currency: "USDC",
        deliveryType: "webhook",
        callbackRequired: false,
        endpointUrl: null,
        network: "base-sepolia",
        status: n % RARE === 1 ? "paused" : "active",
        revision: 1,
        embedding: null,
        createdAt: now,
        updatedAt: now,
      }));
      await listings.collection.insertMany(records as never[]);
    });

    const search = { find: () => Promise.reject(new Error("nothing is searched")) };
    const etherPrice = () => Promise.reject(new Error("no price is needed"));
    /** Sellers of rare listings have a score of 60. Counts how many wallets were read. */
    function standings() {
      let asked = 0;
      return {
        asked: () => asked,
        of: (network: string, wallets: readonly string[]) => {
          asked += wallets.length;
          const known = wallets.filter((wallet) => network === "base-sepolia" && isRare(Number(wallet)));
          return Promise.resolve(new Map(known.map((wallet) => [wallet, { score: 60 } as never])));
        },
      };
    }

    async function page(query: Record<string, string>, scores = standings()): Promise<ListingPage> {
      const parsed = listListingsQuery.parse({ limit: String(PAGE), ...query });
      return listListings(CALLER, parsed, { listings, search, standings: scores, etherPrice });
    }

    it("[D23] minTrustScore misses no seller who reaches it, although no request reads every listing", async () => {
      for (const sort of ["newest", "price_desc"]) {
        const seen: string[] = [];
        let cursor: Record<string, string> = {};
        let pages = 0;
        for (;;) {
          const scores = standings();
          const { listings: listed, next } = await page({ sort, minTrustScore: "0.6", limit: "5", ...cursor }, scores);
          pages += 1;
          seen.push(...listed.map(({ id }) => id));
          assert.ok(listed.length <= 5 && scores.asked() <= 5_000, `${scores.asked()} sellers were looked at`);
          if (next === null) break;
          cursor = { cursor: encodeCursor(next) };
        }
        const rare = Array.from({ length: LISTINGS / RARE }, (_, n) => `lst_${String(n * RARE).padStart(32, "0")}`);
        assert.deepEqual(seen, rare.reverse(), sort);
        assert.ok(pages > 1);
      }
    });

    it("[D23] a minTrustScore that nobody reaches gives an empty last page, and its cursors lead there", async () => {
      const first = await page({ minTrustScore: "0.61" });
      assert.deepEqual(first.listings, []);
      assert.ok(first.next !== null);
      assert.deepEqual(await page({ minTrustScore: "0.61", cursor: encodeCursor(first.next) }), {
        listings: [],
        next: null,
      });
    });
  });

  describe("of events", () => {
    const STORED = 2_000;
    const AGENTS = 500;
    let events: EventModel;
    let lengths: LengthModel;

    before(async () => {
      ({ events, lengths } = eventModels(connection));
      await createIndexes(connection);
      const records = Array.from({ length: STORED }, (_, seq) => ({
        _id: `evt_${seq}:agt_seller`,
        ...(seq % RARE === 0
          ? { type: "escrow.reorged", transactionId: "txn_rare" }
          : { type: "escrow.funded", transactionId: `txn_${seq}` }),
        seq,
        agentId: "agt_seller",
      }));
      await events.collection.insertMany(records as never[]);
      const agents = Array.from({ length: AGENTS }, (_, n) => ({ _id: `agt_${n}`, length: n + 1 }));
      await lengths.collection.insertMany(agents as never[]);
    });

    it("[D25] the end of a log is one entry of an index, and the lengths of logs are one document each", async () => {
      const log = new EventLog(events, lengths);
      const one = { returned: 1, documents: 1, keys: 1, sorts: false };
      const end = () => log.end("agt_seller");
      assert.strictEqual((await end()).seq, STORED - 1);
      assert.deepEqual(await readsOf(connection, "agent_events", end), [one]);
      const [ends] = await readsOf(connection, "agent_events", () => log.end("agt_unknown"));
      assert.deepEqual(ends, { returned: 0, documents: 0, keys: 0, sorts: false });
      const asked = ["agt_3", "agt_77", "agt_unknown"];
      const [read] = await readsOf(connection, "log_lengths", async () => {
        assert.deepEqual(
          [...(await log.lengths(asked))],
          [
            ["agt_3", 4],
            ["agt_77", 78],
          ],
        );
      });
      assert.deepEqual([read?.returned, read?.documents, read?.sorts], [2, 2, false]);
      assert.isAtMost(read?.keys ?? STORED, 2 * asked.length);
    });

    it("[D25] what a stream reads after a position is the end of the log and what is new", async () => {
      const log = new EventLog(events, lengths);
      const after = STORED - 4;
      const reads = await readsOf(connection, "agent_events", async () => {
        assert.deepEqual((await log.after("agt_seller", after, {}, 100)).events.length, 3);
      });
      // The end, the sizes of the new events, and the events.
      assert.deepEqual(
        reads.map(({ documents, sorts }) => ({ documents, sorts })),
        [1, 3, 3].map((documents) => ({ documents, sorts: false })),
      );
    });

    for (const wanted of [{ transactionId: "txn_rare" }, { type: "escrow.reorged" }] as const) {
      it(`[D25] of one ${Object.keys(wanted).join()} read only its events, in order, from the start and after one`, async () => {
        const plan = async (afterSeq?: number) => {
          const found = events.find(eventsFilter("agt_seller", wanted, afterSeq)).sort({ seq: 1 });
          return planOf(await found.limit(21).explain("executionStats"));
        };
        assert.deepEqual(await plan(), { returned: 4, examined: 4, entries: 4, sorts: false });
        assert.deepEqual(await plan(RARE), { returned: 2, examined: 2, entries: 2, sorts: false });
      });
    }
  });

  describe("of webhook dispatches", () => {
    const STORED = 2_000;
    let dispatches: DispatchModel;
    const timeOf = (n: number) => new Date(1_800_000_000_000 + n * 1_000);
    const idOf = (n: number) => `dlv_${String(n).padStart(32, "0")}`;

    before(async () => {
      ({ dispatches } = outboxModels(connection));
      await createIndexes(connection);
      const records = Array.from({ length: STORED }, (_, n) => ({
        _id: idOf(n),
        ...(n % RARE === 0
          ? { status: "failed", transactionId: "txn_rare", webhookId: "whk_rare" }
          : { status: "acknowledged", transactionId: `txn_${n}`, webhookId: "whk_busy" }),
        agentId: "agt_seller",
        createdAt: timeOf(n),
        kind: "immediate",
        eventId: `evt_${n % (STORED / 2)}`,
      }));
      await dispatches.collection.insertMany(records as never[]);
    });

    async function plan(query: Record<string, string>, after?: number): Promise<Plan> {
      const cursor =
        after === undefined ? {} : { cursor: encodeCursor({ createdAt: timeOf(after).getTime(), id: idOf(after) }) };
      const parsed = dispatchListQuery.parse({ ...query, ...cursor });
      const found = dispatches.find(dispatchesFilter("agt_seller", parsed)).sort(DISPATCH_ORDER);
      return planOf(await found.limit(6).explain("executionStats"));
    }

    const rare: Record<string, string>[] = [
      { transactionId: "txn_rare" },
      { status: "failed" },
      { webhookId: "whk_rare" },
      { webhookId: "whk_rare", status: "failed" },
    ];
    for (const wanted of rare) {
      it(`[D38] of one ${Object.keys(wanted).join()} read only these, newest first, on the first page and on a later one`, async () => {
        assert.deepEqual(await plan(wanted), { returned: 4, examined: 4, entries: 4, sorts: false });
        const later = await plan(wanted, 2 * RARE);
        assert.deepEqual([later.returned, later.sorts], [2, false]);
        // The last one of the previous page is read again.
        assert.ok(Math.max(later.examined, later.entries) <= 3 + 1, JSON.stringify(later));
      });
    }

    it("[D38] that a webhook has missed are read oldest first, from a time on", async () => {
      const after = { _id: "", createdAt: timeOf(RARE) };
      const found = dispatches.find(missedFilter("agt_seller", "whk_rare", after)).sort(MISSED_ORDER);
      const read = planOf(await found.limit(100).explain("executionStats"));
      assert.deepEqual([read.returned, read.examined, read.sorts], [3, 3, false]);
      // Each of the two states is looked up.
      assert.ok(read.entries <= 3 + 2, JSON.stringify(read));
    });

    it("[D38] of some events are read without those of other events", async () => {
      const ofEvents = dispatchesOfEvents("agt_seller", "whk_rare", ["evt_0", "evt_7"]);
      const read = planOf(await dispatches.find(ofEvents).explain("executionStats"));
      assert.strictEqual(read.examined, 4, JSON.stringify(read));
    });

    it("[D38] read what a page shows and sort nothing, on the first page and on a later one", async () => {
      assert.deepEqual(await plan({}), { returned: 6, examined: 6, entries: 6, sorts: false });
      const later = await plan({}, STORED - 100);
      assert.deepEqual([later.returned, later.sorts], [6, false]);
      assert.ok(Math.max(later.examined, later.entries) <= 6 + 2, JSON.stringify(later));
    });
  });

  describe("of agents", () => {
    const STORED = 4_000;
    let agents: AgentModels["agents"];
    const scoreOf = (n: number) => n % 100;
    const nameOf = (n: number) => `${n % RARE === 0 ? "rare" : "agent"} ${String(n).padStart(6, "0")}`;

    before(async () => {
      ({ agents } = createAgentModels(connection));
      await createIndexes(connection);
      const records = Array.from({ length: STORED }, (_, n) => ({
        _id: `agt_${String(n).padStart(32, "0")}`,
        agentName: nameOf(n),
        nameKey: nameKeyOf(nameOf(n)),
        walletKey: `0x${n.toString(16).padStart(40, "0")}`,
        kyaLevel: n % RARE === 0 ? 3 : n % 3,
        testnetScore: scoreOf(n),
        testnetScoreBlock: 1,
      }));
      await agents.collection.insertMany(records as never[]);
    });

    /** The plans of all ranges of a page. */
    async function plan(query: Omit<RegistryQuery, "limit">): Promise<Plan> {
      const plans = await Promise.all(
        registryRanges({ ...query, limit: PAGE }).map(async ({ filter, sort }) =>
          planOf(await agents.find(filter).sort(sort).limit(PAGE).explain("executionStats")),
        ),
      );
      const total = (count: (one: Plan) => number) => plans.reduce((sum, one) => sum + count(one), 0);
      return {
        returned: total((one) => one.returned),
        examined: total((one) => one.examined),
        entries: total((one) => one.entries),
        sorts: plans.some((one) => one.sorts),
      };
    }

    const middle = { id: `agt_${String(STORED / 2).padStart(32, "0")}` };
    const pages: [string, Omit<RegistryQuery, "limit">][] = [
      ["without a filter", {}],
      ["without a filter, later", { cursor: { order: "newest", ...middle } }],
      ["of a KYA level", { kyaLevel: 2 }],
      ["of a rare KYA level", { kyaLevel: 3 }],
      ["of a name", { name: "agent 00" }],
      ["of a rare name", { name: "RARE" }],
      ["of a name, later", { name: "agent", cursor: { order: "name", ...middle, name: "agent 002000" } }],
      ["of a name and a level", { name: "agent", kyaLevel: 1 }],
      ["of a minimum score", { minScore: 50 }],
      ["of a range of scores", { minScore: 40, maxScore: 40 }],
      ["of a score, later", { minScore: 10, cursor: { order: "score", ...middle, score: 50 } }],
      ["of a maximum score and a level", { maxScore: 30, kyaLevel: 2 }],
    ];
    for (const [name, query] of pages) {
      it(`[D20] a page ${name} reads little more than it shows and sorts nothing`, async () => {
        const found = await plan(query);
        assert.ok(found.returned > 0 && !found.sorts, JSON.stringify(found));
        // Merging the four levels reads one entry of each ahead, and each of a cursor's two ranges does so.
        assert.ok(found.examined <= found.returned + 8, JSON.stringify(found));
        assert.ok(found.entries <= found.returned + 16, JSON.stringify(found));
      });
    }

    it("[D20] a wallet is found by its own index, with any other filter", async () => {
      const wallet = `0x${(7).toString(16).padStart(40, "0")}` as const;
      const found = await plan({ wallet, kyaLevel: 1, name: "agent", minScore: 0 });
      assert.ok(found.returned === 1 && found.examined === 1 && found.entries <= 2, JSON.stringify(found));
    });
  });
});
