import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { MongoClient } from "mongodb";
import type { Collection } from "mongodb";

import { createIndexer } from "../../../api/indexer/indexer-client.ts";
import type { TransactionRecord } from "../../../api/features/transactions/model.ts";
import { readStack } from "../../fixtures/api.ts";
import { openChain } from "../../fixtures/stack.ts";
import { now } from "../events/bench-process.ts";
import { IndexingStack, NETWORK } from "./indexing-stack.ts";
import { DATABASE, LiveDeals } from "./live-deals.ts";
import type { SeenMove } from "./live-deals.ts";
import { summaryOf } from "./live.ts";
import { AMOUNTS, countEvents, MinedDeals } from "./mined-deals.ts";
import type { MinedDeal } from "./mined-deals.ts";
import type { IndexingBench, PartResult } from "./part.ts";

/** Seconds between two blocks, as on Base. */
const SECONDS_PER_BLOCK = 2;
const BATCH_PAIRS = 10;
const LIVE_PAIRS = 8;
/** Pause between two live deals. */
const LIVE_PAUSE_MS = 2_000;
/** So many live deals begin after everything has caught up. */
const DEALS_AFTERWARDS = 10;
const POLL_MS = 100;
const AT_ONCE = 1_000;
const PATIENCE_MS = 3_600_000;
/** Reads that wait for graph-node are repeated, more often than the limits of a key allow. */
const RAISED_LIMIT = "100000";

/** Stores the checkouts of deals that were mined while nobody looked, each like one that the API has made. */
async function storeCheckouts(transactions: Collection<TransactionRecord>, deals: readonly MinedDeal[]): Promise<void> {
  const made = await transactions.findOne({ network: NETWORK });
  if (made === null) throw new Error("the API has made no checkout");
  for (let start = 0; start < deals.length; start += AT_ONCE) {
    const records = deals.slice(start, start + AT_ONCE).map((deal): TransactionRecord => {
      const { escrowId, criteriaHash, deadline, disputeWindow, abandonmentGrace } = deal;
      return {
        ...made,
        _id: `txn_${randomBytes(16).toString("hex")}`,
        escrowId,
        criteriaHash,
        deadline,
        disputeWindow,
        abandonmentGrace,
        ...AMOUNTS,
        buyerAddress: deal.buyer,
        sellerAddress: deal.seller,
        status: "pending_funding",
        escrow: null,
        minBlock: 0,
        quoteExpiresAt: deadline,
      };
    });
    await transactions.insertMany(records);
  }
}

/** How long graph-node and the follower take to catch up after a downtime of graph-node, and what live deals see then. */
export async function measureCatchUp(bench: IndexingBench): Promise<PartResult> {
  const { downtimeSeconds, downtimeRate, say } = bench;
  say("catchUp: starting chains, graph-node, MongoDB, API and worker");
  process.env["RATE_LIMIT_GENERAL"] = RAISED_LIMIT;
  const stack = await IndexingStack.start(bench.dir);
  const ends: (() => Promise<unknown>)[] = [() => stack.stop()];
  try {
    await stack.startGraph();
    await stack.startService();
    const live = await LiveDeals.open(stack, LIVE_PAIRS);
    const mongo = await MongoClient.connect((await readStack()).mongodbUri);
    const indexer = createIndexer({ network: NETWORK, url: stack.subgraphUrl });
    ends.unshift(
      () => live.close(),
      () => mongo.close(),
      () => indexer.close(),
    );
    await live.settle(0);
    const transactions = mongo.db(DATABASE).collection<TransactionRecord>("transactions");
    const chain = await openChain(NETWORK);
    const { client } = chain;
    const mined = await MinedDeals.open(chain, BATCH_PAIRS);
    const deals = await mined.plan(downtimeSeconds * downtimeRate);
    await storeCheckouts(transactions, deals);

    await stack.stopGraph();
    say(`catchUp: graph-node is down; mining ${deals.length} deals`);
    const before = await client.getBlockNumber({ cacheTime: 0 });
    const miningAt = now();
    await mined.mine(deals, { perBlock: downtimeRate * SECONDS_PER_BLOCK, secondsPerBlock: SECONDS_PER_BLOCK });
    const miningSeconds = (now() - miningAt) / 1_000;
    const head = await client.getBlockNumber({ cacheTime: 0 });
    const events = await countEvents(chain, before + 1n, head);
    await client.request({ method: "evm_setAutomine", params: [true] } as never);

    say(`catchUp: starting graph-node, ${events} events behind`);
    const startedAt = now();
    const reached: { indexedAt?: number; followedAt?: number } = {};
    const settling: Promise<{ moves: SeenMove[] }>[] = [];
    const followed = (async () => {
      await stack.startGraph();
      while ((await indexer.head()).number < Number(head)) await sleep(POLL_MS);
      reached.indexedAt = now();
      say(`catchUp: graph-node has caught up after ${((reached.indexedAt - startedAt) / 1_000).toFixed(1)} s`);
      const ids = { buyerAddress: { $in: [...new Set(deals.map(({ buyer }) => buyer))] } };
      while ((await transactions.countDocuments({ ...ids, status: "released" })) < deals.length) {
        if (now() - startedAt > PATIENCE_MS) throw new Error("not every deal of the downtime has become released");
        await sleep(POLL_MS);
      }
      reached.followedAt = now();
    })();
    for (let afterwards = 0; afterwards < DEALS_AFTERWARDS; afterwards += reached.followedAt === undefined ? 0 : 1) {
      settling.push(live.settle(settling.length));
      await Promise.race([sleep(LIVE_PAUSE_MS), failureOf(followed), ...settling.map(failureOf)]);
    }
    await followed;
    const moves = (await Promise.all(settling)).flatMap((settled) => settled.moves);
    const { indexedAt = Number.NaN, followedAt = Number.NaN } = reached;
    const indexedSeconds = (indexedAt - startedAt) / 1_000;
    return {
      downtime: { seconds: downtimeSeconds, deals: deals.length, events, blocks: Number(head - before), miningSeconds },
      /** From the start of graph-node to the downtime's last block in the subgraph, and in the API's records. */
      indexedSeconds,
      followedSeconds: (followedAt - startedAt) / 1_000,
      eventsPerSecond: events / indexedSeconds,
      /** Live moves that were mined before the subgraph had caught up. */
      whileCatchingUp: summaryOf(moves.filter(({ minedAt }) => minedAt < indexedAt)),
      /** Live moves after the records had caught up, too. */
      floor: summaryOf(moves.filter(({ minedAt }) => minedAt >= followedAt)),
      faults: [],
    };
  } finally {
    for (const close of ends) await close();
  }
}

/** Rejects like a promise, and never resolves. */
function failureOf(promise: Promise<unknown>): Promise<never> {
  return new Promise((_resolve, reject) => {
    promise.catch(reject);
  });
}
