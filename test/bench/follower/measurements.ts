import { setTimeout as sleep } from "node:timers/promises";

import { createLanes } from "../../../api/features/outbox/lanes.ts";
import { outboxModels } from "../../../api/features/outbox/model.ts";
import { Outbox, OUTBOX_DEFAULTS } from "../../../api/features/outbox/outbox.ts";
import { createOutboxWriter, buildDispatches } from "../../../api/features/outbox/enqueue.ts";
import { withTransaction } from "../../../api/db/connection.ts";
import type { FollowerBench } from "../../fixtures/follower.ts";
import { deliveryOf, fundingOf, MOVES_PER_DEAL, releaseOf, storeCheckouts, WRITTEN } from "./deals.ts";
import { floorSeconds, percentile, secondsOf } from "./floor.ts";

const DEALS_PER_BLOCK = 50;
/** Seconds between two blocks, as on Base. */
const BLOCK_SECONDS = 2;

/** Events applied per second by a follower that starts from nothing on a database that holds other deals. */
export async function measureApplying(bench: FollowerBench, deals: number) {
  await bench.reset();
  await storeCheckouts(bench, deals);
  const records = await storeCheckouts(bench, deals);
  for (const move of [fundingOf, deliveryOf, releaseOf]) {
    for (let start = 0; start < deals; start += DEALS_PER_BLOCK) {
      bench.indexer.mine(records.slice(start, start + DEALS_PER_BLOCK).map(move));
    }
  }
  const seconds = await secondsOf(() => bench.follower().step());
  const events = deals * MOVES_PER_DEAL;
  const floor = await floorSeconds(bench, WRITTEN);
  return { events, eventsPerSecond: events / seconds, secondsPerFloor: seconds / floor };
}

/** Milliseconds from a block to the cursor that has passed it, at so many deals a second. */
export async function measureLag(bench: FollowerBench, dealsPerSecond: number, seconds: number) {
  await bench.reset();
  const perBlock = dealsPerSecond * BLOCK_SECONDS;
  const blocks = Math.ceil(seconds / BLOCK_SECONDS);
  const records = await storeCheckouts(bench, perBlock * blocks);
  const minedAt = new Map<number, number>();
  const lags: number[] = [];
  let readTo = 0;
  const ending = new AbortController();
  const follower = bench.follower({
    pollMs: 100,
    onStep: ({ head, hasMore }) => {
      if (hasMore) return Promise.resolve();
      for (; readTo < head.number; readTo += 1) {
        lags.push(performance.now() - (minedAt.get(readTo + 1) ?? performance.now()));
      }
      return Promise.resolve();
    },
  });
  const running = follower.run(ending.signal);
  const deals = (block: number) => records.slice(block * perBlock, (block + 1) * perBlock);
  // Each block funds new deals, delivers those of the block before and releases those of the one before that.
  for (let block = 0; block < blocks + MOVES_PER_DEAL - 1; block += 1) {
    const released = block < 2 ? [] : deals(block - 2).map(releaseOf);
    const delivered = block < 1 ? [] : deals(block - 1).map(deliveryOf);
    bench.indexer.mine([...deals(block).map(fundingOf), ...delivered, ...released]);
    minedAt.set(bench.indexer.height, performance.now());
    await sleep(BLOCK_SECONDS * 1_000);
  }
  while (readTo < bench.indexer.height) await sleep(20);
  ending.abort();
  await running;
  const floor = (await floorSeconds(bench, WRITTEN)) / minedAt.size;
  const p50 = percentile(lags, 0.5);
  return { p50Ms: p50, maxMs: percentile(lags, 1), p50PerFloor: p50 / 1_000 / floor };
}

/** Seconds in which a reorganisation is followed that removes blocks and mines every other of their deals again. */
export async function measureReorganisation(bench: FollowerBench, blocks: number) {
  await bench.reset();
  const perBlock = 4;
  const records = await storeCheckouts(bench, blocks * perBlock);
  const inBlock = (block: number) => records.slice(block * perBlock, (block + 1) * perBlock);
  bench.indexer.mine();
  for (let block = 0; block < blocks; block += 1) bench.indexer.mine(inBlock(block).map(fundingOf));
  let withdrawn = 0;
  const follower = bench.follower({
    onStep: (step) => {
      withdrawn += step.withdrawn;
      return Promise.resolve();
    },
  });
  await follower.step();
  bench.indexer.rollBackTo(1);
  for (let block = 0; block <= blocks; block += 1) {
    bench.indexer.mine(block % 2 === 0 ? inBlock(block).map(fundingOf) : []);
  }
  const seconds = await secondsOf(() => follower.step());
  const floor = await floorSeconds(bench, ["transactions", "chain_moves"]);
  return { moves: records.length, withdrawn, seconds, secondsPerFloor: seconds / floor };
}

const CLAIMED = 2_000;
const LANES_AT_ONCE = 8;
const TAKEN_AT_ONCE = 8;
const CLAIMING_AGENTS = 50;

/** Dispatches claimed per second while others wait for one slow agent. */
export async function measureClaims(bench: FollowerBench, waiting: number) {
  await bench.reset();
  const models = outboxModels(bench.connection);
  const [lanes, outbox] = [createLanes(models, OUTBOX_DEFAULTS.leaseMs), new Outbox(models, OUTBOX_DEFAULTS)];
  const writer = createOutboxWriter(models);
  const dispatch = (agentId: string, n: number) =>
    buildDispatches(
      {
        eventId: `evt_${n}`,
        eventType: "escrow.released",
        transactionId: `txn_${n}`,
        orderKey: null,
        seq: n,
        bodyJson: "{}",
      },
      [{ agentId, url: "http://receiver.example/hook" }],
      new Date(0),
    );
  for (let start = 0; start < waiting; start += 1_000) {
    const batch = Array.from({ length: 1_000 }, (_, n) => dispatch("agt_slow", start + n)).flat();
    await withTransaction(bench.connection, (session) => writer.enqueue(batch, session));
  }
  while ((await lanes.admit()) > 0);
  await models.lanes.updateMany({}, { isSlow: true });
  const own = Array.from({ length: CLAIMED }, (_, n) => dispatch(`agt_${n % CLAIMING_AGENTS}`, waiting + n)).flat();
  await withTransaction(bench.connection, (session) => writer.enqueue(own, session));
  while ((await lanes.admit()) > 0);

  let claimed = 0;
  let turns = 0;
  const seconds = await secondsOf(async () => {
    while (claimed < CLAIMED) {
      const turn = await lanes.claim(false, LANES_AT_ONCE, () => `turn_${(turns += 1)}`);
      const taken = await Promise.all(
        turn.map(async ({ _id, holder }) => {
          const { dispatches, hasMore } = await outbox.take(_id, holder ?? "", TAKEN_AT_ONCE);
          await lanes.release(_id, holder ?? "", { isSlow: false, width: TAKEN_AT_ONCE, isEmpty: !hasMore });
          return dispatches.length;
        }),
      );
      claimed += taken.reduce((sum, count) => sum + count, 0);
    }
  });
  const ids = own.map(({ _id }) => _id);
  const floor = await secondsOf(async () => {
    for (let start = 0; start < ids.length; start += LANES_AT_ONCE * TAKEN_AT_ONCE) {
      const batch = ids.slice(start, start + LANES_AT_ONCE * TAKEN_AT_ONCE);
      await Promise.all(batch.map((_id) => models.dispatches.findOneAndUpdate({ _id }, { holder: "floor" }).lean()));
    }
  });
  return { waiting, claimsPerSecond: CLAIMED / seconds, secondsPerFloor: seconds / floor };
}
