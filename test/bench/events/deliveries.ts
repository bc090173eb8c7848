import { setTimeout as sleep } from "node:timers/promises";

import { NARROW_WIDTH } from "../../../api/features/outbox/lanes.ts";
import { WEBHOOK_ATTEMPT_TIMEOUT_MS, WEBHOOK_RETRIES } from "../../../api/config/constants.ts";
import { BenchProcess, now } from "./bench-process.ts";
import { paced } from "./pace.ts";
import { scaled, startService } from "./service.ts";
import type { BenchAgent, BenchService, EventsBench, PartResult } from "./service.ts";
import { delaysOf, memoryOf } from "./summary.ts";

/** How a receiver answers: 200, 500, never, or 200 after three seconds. */
export type Behaviour = "healthy" | "refusing" | "hanging" | "slow";

/** A request that a receiver has had. Times in milliseconds since 1970. */
export interface Receipt {
  receiver: number;
  mark: number;
  at: number;
  /** When its 200 was written; null if it wasn't. */
  acknowledgedAt: number | null;
}

/** The healthy ones come first, so that alone they have the same numbers. */
const BEHAVIOURS: readonly Behaviour[] = [
  ...Array<Behaviour>(33).fill("healthy"),
  ...Array<Behaviour>(6).fill("refusing"),
  ...Array<Behaviour>(6).fill("hanging"),
  ...Array<Behaviour>(5).fill("slow"),
];
const HEALTHY = BEHAVIOURS.filter((behaviour) => behaviour === "healthy").length;
const EVENTS_EACH = 200;
/** Events a second for each receiver. */
const RATE_EACH = 1;
/** The healthy ones alone, before and after: this part of the events each time. */
const ALONE_SHARE = 1 / 4;
const POLL_MS = 250;
const PROGRESS_MS = 30_000;
const PATIENCE_MS = 120_000;

/** When events were recorded, and what the receivers have had of them. */
interface Run {
  recordedAt: Map<number, number>;
  receipts: Receipt[];
  recordedPerSecond: number;
  lastRecordedAt: number;
}

class Deliveries {
  readonly #bench: EventsBench;
  readonly #service: BenchService;
  readonly #receivers = new BenchProcess("receivers");
  readonly #agents: readonly BenchAgent[];
  ports: readonly number[] = [];
  #marks = 0;

  constructor(bench: EventsBench, service: BenchService, agents: readonly BenchAgent[]) {
    this.#bench = bench;
    this.#service = service;
    this.#agents = agents;
  }

  /** Opens the receivers and registers each for an agent of its own. */
  async open(): Promise<void> {
    this.ports = await this.#receivers.ask<number[]>("open", BEHAVIOURS);
    for (const [index, agent] of this.#agents.entries()) {
      const url = `http://127.0.0.1:${String(this.ports[index])}/hook`;
      await this.#service.call(agent, "POST", "/api/v1/webhooks", 201, { url, events: ["escrow.released"] });
    }
  }

  /** Records events for the first receivers at their rate, and waits until everything has an end. */
  async run(receivers: number, eventsEach: number, patienceMs = PATIENCE_MS): Promise<Run> {
    const recordedAt = new Map<number, number>();
    const count = receivers * eventsEach;
    const first = this.#marks;
    this.#marks += count;
    const recordedPerSecond = await paced(count, receivers * RATE_EACH, async (index) => {
      const agent = this.#agents[index % receivers];
      if (agent === undefined) throw new Error("unreachable: every receiver has an agent");
      await this.#service.record({ mark: first + index, agents: [agent] });
      recordedAt.set(first + index, now());
    });
    const lastRecordedAt = now();
    await this.#drained(patienceMs);
    const receipts = await this.#receivers.ask<Receipt[]>("take");
    return { recordedAt, receipts, recordedPerSecond, lastRecordedAt };
  }

  async #drained(patienceMs: number): Promise<void> {
    const dispatches = this.#service.local.container.connection.collection("outbox_dispatches");
    const startedAt = performance.now();
    let toldAt = startedAt;
    for (;;) {
      const pending = await dispatches.countDocuments({ status: "pending" });
      if (pending === 0) return;
      const waitedMs = performance.now() - startedAt;
      if (waitedMs > patienceMs) throw new Error(`${pending} dispatches are pending after ${Math.round(waitedMs)} ms`);
      if (performance.now() - toldAt > PROGRESS_MS) {
        toldAt = performance.now();
        this.#bench.say(`deliveries: ${pending} dispatches are left after ${Math.round(waitedMs / 1_000)} s`);
      }
      await sleep(POLL_MS);
    }
  }

  /** Plain POSTs at the rate of the healthy receivers: what a webhook takes without a database, a queue and a signature. */
  async floor(eventsEach: number): Promise<number[]> {
    const samples: number[] = [];
    await paced(HEALTHY * eventsEach, HEALTHY * RATE_EACH, async (index) => {
      const startedAt = performance.now();
      const url = `http://127.0.0.1:${String(this.ports[index % HEALTHY])}/hook`;
      const answer = await fetch(url, { method: "POST", body: "{}", headers: { connection: "close" } });
      await answer.arrayBuffer();
      samples.push(performance.now() - startedAt);
    });
    await this.#receivers.ask("take");
    return samples;
  }

  stop(): Promise<void> {
    return this.#receivers.stop();
  }
}

/** Milliseconds from the commit of each event to its first request, for healthy receivers. */
function delaysIn({ recordedAt, receipts }: Run): number[] {
  const firstAt = new Map<number, number>();
  for (const { receiver, mark, at } of receipts) {
    if (receiver < HEALTHY) firstAt.set(mark, Math.min(at, firstAt.get(mark) ?? Infinity));
  }
  // A worker may be faster than the answer to the commit.
  return [...firstAt].map(([mark, at]) => Math.max(0, at - (recordedAt.get(mark) ?? Number.NaN)));
}

/** What a receiver gets of an event: the one retry of specification 6 follows an attempt that failed. */
const ATTEMPTS: Record<Behaviour, number> = {
  healthy: 1,
  slow: 1,
  refusing: 1 + WEBHOOK_RETRIES,
  hanging: 1 + WEBHOOK_RETRIES,
};

/** What differs from one request for each event to healthy and slow receivers, two to the others, none after a 200. */
function faultsIn(
  events: readonly number[],
  receipts: readonly Receipt[],
  receiverOf: (mark: number) => number,
): string[] {
  const faults: string[] = [];
  const byMark = Map.groupBy(receipts, ({ mark }) => mark);
  for (const mark of events) {
    const receiver = receiverOf(mark);
    const own = byMark.get(mark) ?? [];
    const wanted = ATTEMPTS[BEHAVIOURS[receiver] ?? "healthy"];
    if (own.length !== wanted) faults.push(`event ${mark} was sent ${own.length} times, not ${wanted}`);
    const acknowledgedAt = Math.min(...own.map((receipt) => receipt.acknowledgedAt ?? Infinity));
    if (own.some(({ at }) => at > acknowledgedAt)) faults.push(`event ${mark} was sent after its acknowledgement`);
    if (own.some((receipt) => receipt.receiver !== receiver)) faults.push(`event ${mark} went to another receiver`);
  }
  return faults;
}

/** Events to receivers of which a third fail, hang or answer slowly. */
export async function measureDeliveries(bench: EventsBench): Promise<PartResult> {
  const eventsEach = scaled(bench, EVENTS_EACH, 2);
  const aloneEach = Math.max(2, Math.round(eventsEach * ALONE_SHARE));
  const service = await startService(bench, { worker: true });
  const deliveries = new Deliveries(bench, service, await service.agents(BEHAVIOURS.length));
  try {
    await deliveries.open();
    bench.say("deliveries: waiting for the worker");
    await deliveries.run(HEALTHY, 1);
    bench.say(`deliveries: ${HEALTHY} healthy receivers alone`);
    const before = await deliveries.run(HEALTHY, aloneEach);
    const floor = await deliveries.floor(aloneEach);
    const pid = service.worker?.pid ?? 0;
    const startMb = memoryOf(pid).rssMb;
    bench.say(`deliveries: ${BEHAVIOURS.length * eventsEach} events to all ${BEHAVIOURS.length} receivers`);
    const attemptsMs = eventsEach * (1 + WEBHOOK_RETRIES) * WEBHOOK_ATTEMPT_TIMEOUT_MS;
    const beside = await deliveries.run(BEHAVIOURS.length, eventsEach, PATIENCE_MS + (2 * attemptsMs) / NARROW_WIDTH);
    const drainedAt = now();
    const { rssMb, peakMb } = memoryOf(pid);
    bench.say(`deliveries: ${HEALTHY} healthy receivers alone, again`);
    const after = await deliveries.run(HEALTHY, aloneEach);

    const events = [...beside.recordedAt.keys()];
    const firstMark = Math.min(...events);
    const faults = faultsIn(events, beside.receipts, (mark) => (mark - firstMark) % BEHAVIOURS.length);
    const ends = await endsOf(service);
    const sick = BEHAVIOURS.filter((behaviour) => behaviour === "refusing" || behaviour === "hanging").length;
    const givenUp = ends.find(({ status }) => status === "failed")?.count ?? 0;
    if (givenUp !== sick * eventsEach) faults.push(`${givenUp} dispatches have failed, not ${sick * eventsEach}`);
    const alone = delaysOf([...delaysIn(before), ...delaysIn(after)]);
    const healthyBeside = delaysOf(delaysIn(beside));
    const floorDelays = delaysOf(floor);
    const healthyReceipts = beside.receipts.filter(({ receiver }) => receiver < HEALTHY);
    const secondsAfterLast = (at: number) => Math.max(0, (at - beside.lastRecordedAt) / 1_000);
    return {
      events: events.length,
      receivers: BEHAVIOURS.length,
      sick: BEHAVIOURS.length - HEALTHY,
      recordedPerSecond: beside.recordedPerSecond,
      requests: beside.receipts.length,
      dispatches: Object.fromEntries(ends.map(({ status, count }) => [status, count])),
      /** From an event's commit to its arrival at a healthy receiver. */
      alone,
      beside: healthyBeside,
      floor: floorDelays,
      /** The goal is at most 2. */
      p95PerAlone: healthyBeside.p95Ms / alone.p95Ms,
      p95PerFloor: alone.p95Ms / floorDelays.p95Ms,
      /** From the last event's commit. */
      secondsUntilHealthyDrained: secondsAfterLast(Math.max(...healthyReceipts.map(({ at }) => at))),
      secondsUntilDrained: secondsAfterLast(drainedAt),
      worker: { startMb, rssMb, peakMb },
      faults,
    };
  } finally {
    await deliveries.stop();
    await service.stop();
  }
}

/** How many dispatches have ended in which way. */
function endsOf({ local }: BenchService): Promise<{ status: string; count: number }[]> {
  return local.container.connection
    .collection("outbox_dispatches")
    .aggregate<{ status: string; count: number }>([
      { $group: { _id: "$status", count: { $sum: 1 } } },
      { $project: { _id: 0, status: "$_id", count: 1 } },
    ])
    .toArray();
}
