import { setTimeout as sleep } from "node:timers/promises";

import type { Connection } from "mongoose";

import type { Logger } from "../../lib/logger.ts";
import type { KeyStates } from "../identity/key-states.ts";
import type { EventStream } from "./event-stream.ts";
import type { EventLog } from "./log.ts";
import type { EventModel, EventRecord } from "./model.ts";
import type { StreamSlots } from "./stream-slots.ts";

/** Durations of the streams, in milliseconds. Tests shorten them. */
export interface StreamTimings {
  /** Pause between two heartbeats. */
  streamHeartbeatMs: number;
  /** A client that reads nothing for this long while events wait for it is cut off. */
  streamStallMs: number;
  /** How long the slot of a stream stays taken when its process dies. */
  streamLeaseMs: number;
}

/**
 * Proxies close connections that are silent for a minute, many after 30 seconds. Slots are renewed three times per lease;
 * a process that pauses for less keeps them.
 */
export const STREAM_TIMINGS: StreamTimings = {
  streamHeartbeatMs: 15_000,
  streamStallMs: 30_000,
  streamLeaseMs: 30_000,
};

/** All open streams of one process. */
export interface StreamHub {
  /** Adds a stream, which then gets every event. False if its key has ended meanwhile. */
  add(stream: EventStream): Promise<boolean>;
  /** Continues a stream whose client has read enough. */
  resume(stream: EventStream): void;
  remove(stream: EventStream): void;
  count(): number;
}

/** Dependencies of the hub. */
export interface StreamHubDeps {
  connection: Connection;
  events: EventModel;
  log: EventLog;
  slots: StreamSlots;
  keys: KeyStates;
  timings: StreamTimings;
  /** Aborted when the process stops. */
  shutdown: AbortSignal;
  logger: Logger;
}

/** A change that the change stream reports. */
interface Change {
  ns: { coll: string };
  documentKey: { _id: string };
  fullDocument?: EventRecord;
}

/** How many streams are read from the log at once. More would only wait for each other in the database. */
const READS_AT_ONCE = 8;
/** Events of the first page of a stream. Later pages are as long as the client reads them at once. */
const FIRST_PAGE = 16;
const LONGEST_PAGE = 256;
const RETRY_MS = 1_000;
/** How often ended keys and clients that don't read are looked for. */
const TICK_MS = 500;
const RENEWALS_PER_LEASE = 3;

/**
 * Sends events to the streams of this process. One change stream serves them all. Positions in an agent's log have no
 * gaps, so an event is pushed only if it is the next one of a stream; otherwise the stream is read from the log. A lost
 * change stream therefore loses nothing and repeats nothing.
 */
export function createStreamHub(deps: StreamHubDeps): StreamHub {
  const { connection, events, log, slots, keys, timings, shutdown, logger } = deps;
  const byAgent = new Map<string, Set<EventStream>>();
  const byId = new Map<string, EventStream>();
  const queue: EventStream[] = [];
  const isStopping = (): boolean => shutdown.aborted;
  let reading = 0;
  let isStarted = false;

  /** Reads a stream from the log if it is behind and its client has room. */
  function resume(stream: EventStream): void {
    if (!stream.isBehind() || stream.isQueued || !stream.hasRoom()) return;
    stream.isQueued = true;
    queue.push(stream);
    readQueued();
  }

  function readQueued(): void {
    while (reading < READS_AT_ONCE) {
      const stream = queue.shift();
      if (stream === undefined) return;
      reading += 1;
      void readLog(stream).finally(() => {
        reading -= 1;
        readQueued();
      });
    }
  }

  async function readLog(stream: EventStream): Promise<void> {
    let pauseMs: number | undefined;
    try {
      const before = stream.position;
      await readPages(stream);
      // The database doesn't show yet what the change stream has reported.
      if (stream.position === before && stream.isBehind() && stream.hasRoom()) pauseMs = RETRY_MS;
    } catch (error) {
      logger.warn({ err: error, agentId: stream.agentId }, "couldn't read the event log for a stream; trying again");
      pauseMs = RETRY_MS;
    }
    if (pauseMs !== undefined) await sleep(pauseMs, undefined, { ref: false });
    stream.isQueued = false;
    resume(stream);
  }

  async function readPages(stream: EventStream): Promise<void> {
    let limit = FIRST_PAGE;
    while (stream.isBehind() && stream.hasRoom()) {
      const before = stream.position;
      const page = await log.after(stream.agentId, before, stream.filter, limit);
      let pushed = 0;
      for (const event of page.events) {
        if (!stream.hasRoom()) break;
        stream.push(event);
        pushed += 1;
      }
      const isWhole = pushed === page.events.length;
      if (isWhole) stream.skipTo(page.complete);
      if (stream.position === before) return;
      limit = isWhole ? Math.min(LONGEST_PAGE, limit * 2) : Math.max(1, pushed);
    }
  }

  /** Reads every stream from the log up to where the log ends now. */
  async function catchUp(): Promise<void> {
    const lengths = await log.lengths([...byAgent.keys()]);
    for (const [agentId, streams] of byAgent) {
      for (const stream of streams) {
        stream.known = Math.max(stream.known, lengths.get(agentId) ?? 0);
        resume(stream);
      }
    }
  }

  /** Ends the streams of agents whose keys have ended, and notes when the others will. */
  async function checkKeys(agentIds: readonly string[]): Promise<void> {
    if (agentIds.length === 0) return;
    // Keys may be revoked during the read, and then this runs again. Streams that are opened meanwhile check for themselves.
    const open = agentIds.flatMap((agentId) => [...(byAgent.get(agentId) ?? [])]);
    const valid = await keys.validFor(agentIds);
    for (const stream of open) stream.keyEndsAt = performance.now() + (valid.get(stream.keyId) ?? 0);
    endExpired();
  }

  function endExpired(): void {
    const now = performance.now();
    for (const stream of byId.values()) {
      if (stream.keyEndsAt <= now) stream.end();
      else if (stream.stalledMs(now) >= timings.streamStallMs) stream.cut();
    }
  }

  function announce(event: EventRecord): void {
    for (const stream of byAgent.get(event.agentId) ?? []) {
      const isNext = event.seq === stream.position + 1;
      stream.known = Math.max(stream.known, event.seq);
      if (isNext && !stream.isQueued && stream.hasRoom()) stream.push(event);
      else resume(stream);
    }
  }

  async function follow(): Promise<void> {
    const pipeline = [
      {
        $match: {
          $or: [
            { "ns.coll": events.collection.collectionName, operationType: "insert" },
            { $and: [{ "ns.coll": keys.changes.collection }, keys.changes.filter] },
          ],
        },
      },
      // The access record of an agent isn't needed, and has the hashes of its keys.
      { $project: { ns: 1, documentKey: 1, fullDocument: eventsOnly(events) } },
    ];
    const changes = connection.getClient().db(connection.name).watch<Change, Change>(pipeline);
    const close = () => void changes.close().catch(() => undefined);
    shutdown.addEventListener("abort", close, { once: true });
    try {
      let change = await changes.tryNext();
      // The change stream is open, so what the log has now and what changes from now on is everything.
      await Promise.all([catchUp(), checkKeys([...byAgent.keys()])]);
      for (;;) {
        if (change !== null) await take(change);
        change = await changes.next();
      }
    } finally {
      shutdown.removeEventListener("abort", close);
      close();
    }
  }

  async function take({ ns, documentKey, fullDocument }: Change): Promise<void> {
    if (ns.coll === keys.changes.collection) {
      if (byAgent.has(documentKey._id)) await checkKeys([documentKey._id]);
    } else if (fullDocument !== undefined) announce(fullDocument);
  }

  async function followForever(): Promise<void> {
    while (!isStopping()) {
      try {
        await follow();
      } catch (error) {
        if (isStopping()) return;
        logger.warn({ err: error }, "lost the change stream of events; opening another");
        await sleep(RETRY_MS, undefined, { ref: false });
      }
    }
  }

  /** Renews the slots, and closes the streams that have lost theirs. */
  async function renew(): Promise<void> {
    const open = new Map([...byId.values()].map(({ id, agentId }) => [id, agentId]));
    for (const id of await slots.renew(open)) byId.get(id)?.end();
    // A safeguard: these two bound how long a silently broken change stream goes unnoticed.
    await catchUp();
    await checkKeys([...byAgent.keys()]);
  }

  function start(): void {
    isStarted = true;
    void followForever();
    const timers = [
      setInterval(endExpired, Math.min(TICK_MS, timings.streamStallMs)),
      setInterval(() => {
        for (const stream of byId.values()) stream.beat();
      }, timings.streamHeartbeatMs),
      setInterval(() => {
        renew().catch((error: unknown) => {
          logger.warn({ err: error }, "couldn't renew the slots of event streams; trying again");
        });
      }, timings.streamLeaseMs / RENEWALS_PER_LEASE),
    ];
    for (const timer of timers) timer.unref();
    shutdown.addEventListener("abort", () => {
      for (const timer of timers) clearInterval(timer);
    });
  }

  return {
    async add(stream) {
      if (!isStarted) start();
      const own = byAgent.get(stream.agentId) ?? new Set();
      byAgent.set(stream.agentId, own.add(stream));
      byId.set(stream.id, stream);
      // From here on, changes are noticed. What happened before is read.
      const [valid, { seq }] = await Promise.all([keys.validFor([stream.agentId]), log.end(stream.agentId)]);
      stream.keyEndsAt = Math.min(stream.keyEndsAt, performance.now() + (valid.get(stream.keyId) ?? 0));
      stream.known = Math.max(stream.known, seq);
      resume(stream);
      return stream.keyEndsAt > performance.now();
    },
    resume,
    remove(stream) {
      if (!byId.delete(stream.id)) return;
      const own = byAgent.get(stream.agentId);
      own?.delete(stream);
      if (own?.size === 0) byAgent.delete(stream.agentId);
      slots.release(stream.agentId, stream.id).catch((error: unknown) => {
        logger.warn({ err: error }, "couldn't release the slot of an event stream; its lease expires");
      });
    },
    count: () => byId.size,
  };
}

/** The document of an inserted event, and of nothing else. */
function eventsOnly(events: EventModel) {
  return { $cond: [{ $eq: ["$ns.coll", events.collection.collectionName] }, "$fullDocument", "$$REMOVE"] };
}
