import { setTimeout as sleep } from "node:timers/promises";

import { EVENT_STREAMS_PER_AGENT } from "../../../api/config/constants.ts";
import { BenchProcess, now } from "./bench-process.ts";
import { paced } from "./pace.ts";
import { scaled, startService } from "./service.ts";
import type { BenchAgent, EventsBench, PartResult } from "./service.ts";
import { delaysOf, memoryOf } from "./summary.ts";

/** Streams that clients open. */
export interface StreamsToOpen {
  url: string;
  keys: string[];
  perKey: number;
}

/** What has arrived in a stream, in order. Times in milliseconds since 1970. */
export interface StreamReport {
  key: string;
  marks: number[];
  times: number[];
  isOpen: boolean;
}

const AGENTS = 200;
const EVENTS_PER_SECOND = 100;
const SECONDS = 60;
/** Events of a transaction: what the follower writes ten times a second. */
const BATCH = 10;
/** An event of a deal goes to both of its parties. */
const PARTIES = 2;
const POLL_MS = 100;
const PATIENCE_MS = 60_000;
/** A frame as long as those of the API. */
const PADDING = "x".repeat(300);

/** Waits until the clients have so many events. False if they haven't in time. */
export async function hasArrived(clients: BenchProcess, count: number): Promise<boolean> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  while ((await clients.ask<number>("count")) < count) {
    if (performance.now() > giveUpAt) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** The agents of an event: each pair in turn. */
function partiesOf(agents: readonly BenchAgent[], event: number): BenchAgent[] {
  const party = (index: number) => agents[(event * PARTIES + index) % agents.length];
  return [party(0), party(1)].filter((agent) => agent !== undefined);
}

/** What a stream lacks, repeats or has in another order than the agent's other streams. */
export function faultsOf(reports: readonly StreamReport[], wantedOf: (key: string) => ReadonlySet<number>): string[] {
  const faults: string[] = [];
  for (const [key, own] of Map.groupBy(reports, (report) => report.key)) {
    const wanted = wantedOf(key);
    const [first] = own;
    for (const { marks, isOpen } of own) {
      const distinct = new Set(marks);
      if (!isOpen) faults.push("a stream has ended");
      if (distinct.size < marks.length) faults.push(`a stream has ${marks.length - distinct.size} events twice`);
      const lost = wanted.difference(distinct).size;
      if (lost > 0) faults.push(`a stream lacks ${lost} of ${wanted.size} events`);
      if (distinct.size > wanted.size - lost) faults.push("a stream has events of another agent");
      if (marks.join() !== first?.marks.join()) faults.push("two streams of an agent differ in their order");
    }
  }
  return faults;
}

/** Milliseconds from each event to its arrival in each stream. */
export function arrivalDelays(reports: readonly StreamReport[], sentAt: ReadonlyMap<number, number>): number[] {
  return reports.flatMap(({ marks, times }) =>
    marks.map((mark, index) => (times[index] ?? Number.NaN) - (sentAt.get(mark) ?? Number.NaN)),
  );
}

/** Bare open answers that get the same number of frames at the same rate. */
async function measureFloor(agents: readonly BenchAgent[], events: number): Promise<number[]> {
  const [floor, clients] = [new BenchProcess("stream-floor"), new BenchProcess("stream-clients")];
  const url = await floor.ask<string>("listen");
  await clients.ask("open", {
    url,
    keys: agents.map(({ key }) => key),
    perKey: EVENT_STREAMS_PER_AGENT,
  } satisfies StreamsToOpen);
  const sentAt = new Map<number, number>();
  await paced(events, EVENTS_PER_SECOND, async (mark) => {
    const keys = partiesOf(agents, mark).map(({ key }) => key);
    sentAt.set(mark, now());
    await floor.ask("push", { keys, frame: `data: {"mark":${mark},"padding":"${PADDING}"}\n\n` });
  });
  await hasArrived(clients, events * PARTIES * EVENT_STREAMS_PER_AGENT);
  const reports = await clients.ask<StreamReport[]>("take");
  await Promise.all([floor.stop(), clients.stop()]);
  return arrivalDelays(reports, sentAt);
}

/** Streams that are open on one API process, and events at a steady rate. */
export async function measureStreams(bench: EventsBench): Promise<PartResult> {
  const service = await startService(bench, { worker: false });
  const clients = new BenchProcess("stream-clients");
  try {
    const agents = await service.agents(scaled(bench, AGENTS, PARTIES));
    const streams = agents.length * EVENT_STREAMS_PER_AGENT;
    const { pid, url } = service.server;
    const startMb = memoryOf(pid).rssMb;
    bench.say(`streams: opening ${streams} streams`);
    const openingAt = performance.now();
    await clients.ask("open", {
      url,
      keys: agents.map(({ key }) => key),
      perKey: EVENT_STREAMS_PER_AGENT,
    } satisfies StreamsToOpen);
    const openingMs = performance.now() - openingAt;
    const openMb = memoryOf(pid).rssMb;

    const events = EVENTS_PER_SECOND * scaled(bench, SECONDS, 5);
    bench.say(`streams: ${events} events at ${EVENTS_PER_SECOND} a second`);
    const sentAt = new Map<number, number>();
    const wanted = new Map(agents.map(({ key }) => [key, new Set<number>()]));
    const batchesPerSecond = await paced(events / BATCH, EVENTS_PER_SECOND / BATCH, async (index) => {
      const batch = Array.from({ length: BATCH }, (_, event) => {
        const mark = index * BATCH + event;
        return { mark, agents: partiesOf(agents, mark) };
      });
      for (const { mark } of batch) sentAt.set(mark, now());
      await service.record(...batch);
      for (const { mark, agents: parties } of batch) for (const { key } of parties) wanted.get(key)?.add(mark);
    });
    const frames = events * PARTIES * EVENT_STREAMS_PER_AGENT;
    const isComplete = await hasArrived(clients, frames);
    const { rssMb, peakMb } = memoryOf(pid);
    const reports = await clients.ask<StreamReport[]>("take");
    const faults = faultsOf(reports, (key) => wanted.get(key) ?? new Set());
    if (!isComplete) faults.push(`the streams didn't have all events ${PATIENCE_MS} ms after the last`);
    bench.say("streams: the floor");
    const delays = delaysOf(arrivalDelays(reports, sentAt));
    const floor = delaysOf(await measureFloor(agents, Math.max(500, Math.round(events / 4))));
    return {
      streams,
      events,
      frames: reports.reduce((sum, { marks }) => sum + marks.length, 0),
      recordedPerSecond: batchesPerSecond * BATCH,
      openedPerSecond: (streams / openingMs) * 1_000,
      /** From the start of the transaction that records an event to its arrival in a stream. */
      delays,
      floor,
      p95PerFloor: delays.p95Ms / floor.p95Ms,
      api: { startMb, openMb, rssMb, peakMb, kbPerStream: ((openMb - startMb) / streams) * 1_024 },
      faults,
    };
  } finally {
    await clients.stop();
    await service.stop();
  }
}
