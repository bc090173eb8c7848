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

/** Dependencies of the hub. */
export interface StreamHubDeps {
  connection: Connection;
  events: EventModel;
  log: Pick<EventLog, "after" | "end" | "lengths">;
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
export class StreamHub {
  readonly #deps: StreamHubDeps;
  readonly #byAgent = new Map<string, Set<EventStream>>();
  readonly #byId = new Map<string, EventStream>();
  readonly #queue: EventStream[] = [];
  #reading = 0;
  #isStarted = false;

  constructor(deps: StreamHubDeps) {
    this.#deps = deps;
  }

  /** Reads a stream from the log if it is behind and its client has room. */
  resume(stream: EventStream): void {
    if (!stream.isBehind() || stream.isQueued || !stream.hasRoom()) return;
    stream.isQueued = true;
    this.#queue.push(stream);
    this.#readQueued();
  }

  /** Adds a stream, which then gets every event. False if its key has ended meanwhile. */
  async add(stream: EventStream): Promise<boolean> {
    if (!this.#isStarted) this.#start();
    const own = this.#byAgent.get(stream.agentId) ?? new Set();
    this.#byAgent.set(stream.agentId, own.add(stream));
    this.#byId.set(stream.id, stream);
    // From here on, changes are noticed. What happened before is read.
    const [valid, { seq }] = await Promise.all([
      this.#deps.keys.validFor([stream.agentId]),
      this.#deps.log.end(stream.agentId),
    ]);
    stream.keyEndsAt = Math.min(stream.keyEndsAt, performance.now() + (valid.get(stream.keyId) ?? 0));
    stream.known = Math.max(stream.known, seq);
    this.resume(stream);
    return stream.keyEndsAt > performance.now();
  }

  remove(stream: EventStream): void {
    if (!this.#byId.delete(stream.id)) return;
    const own = this.#byAgent.get(stream.agentId);
    own?.delete(stream);
    if (own?.size === 0) this.#byAgent.delete(stream.agentId);
    this.#deps.slots.release(stream.holder, stream.id).catch((error: unknown) => {
      this.#deps.logger.warn({ err: error }, "couldn't release the slot of an event stream; its lease expires");
    });
  }

  count(): number {
    return this.#byId.size;
  }

  #isStopping(): boolean {
    return this.#deps.shutdown.aborted;
  }

  #readQueued(): void {
    while (this.#reading < READS_AT_ONCE) {
      const stream = this.#queue.shift();
      if (stream === undefined) return;
      this.#reading += 1;
      void this.#readLog(stream).finally(() => {
        this.#reading -= 1;
        this.#readQueued();
      });
    }
  }

  async #readLog(stream: EventStream): Promise<void> {
    let pauseMs: number | undefined;
    try {
      const before = stream.position;
      await this.#readPages(stream);
      // The database doesn't show yet what the change stream has reported.
      if (stream.position === before && stream.isBehind() && stream.hasRoom()) pauseMs = RETRY_MS;
    } catch (error) {
      this.#deps.logger.warn(
        { err: error, agentId: stream.agentId },
        "couldn't read the event log for a stream; trying again",
      );
      pauseMs = RETRY_MS;
    }
    if (pauseMs !== undefined) await sleep(pauseMs, undefined, { ref: false });
    stream.isQueued = false;
    this.resume(stream);
  }

  async #readPages(stream: EventStream): Promise<void> {
    let limit = FIRST_PAGE;
    while (stream.isBehind() && stream.hasRoom()) {
      const before = stream.position;
      const page = await this.#deps.log.after(stream.agentId, before, stream.filter, limit);
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
  async #catchUp(): Promise<void> {
    const lengths = await this.#deps.log.lengths([...this.#byAgent.keys()]);
    for (const [agentId, streams] of this.#byAgent) {
      for (const stream of streams) {
        stream.known = Math.max(stream.known, lengths.get(agentId) ?? 0);
        this.resume(stream);
      }
    }
  }

  /** Ends the streams of agents whose keys have ended, and notes when the others will. */
  async #checkKeys(agentIds: readonly string[]): Promise<void> {
    if (agentIds.length === 0) return;
    // Keys may be revoked during the read, and then this runs again. Streams that are opened meanwhile check for themselves.
    const open = agentIds.flatMap((agentId) => [...(this.#byAgent.get(agentId) ?? [])]);
    const valid = await this.#deps.keys.validFor(agentIds);
    for (const stream of open) stream.keyEndsAt = performance.now() + (valid.get(stream.keyId) ?? 0);
    this.#endExpired();
  }

  #endExpired(): void {
    const now = performance.now();
    for (const stream of this.#byId.values()) {
      if (stream.keyEndsAt <= now) stream.end();
      else if (stream.stalledMs(now) >= this.#deps.timings.streamStallMs) stream.cut();
    }
  }

  #announce(event: EventRecord): void {
    for (const stream of this.#byAgent.get(event.agentId) ?? []) {
      const isNext = event.seq === stream.position + 1;
      stream.known = Math.max(stream.known, event.seq);
      if (isNext && !stream.isQueued && stream.hasRoom()) stream.push(event);
      else this.resume(stream);
    }
  }

  async #follow(): Promise<void> {
    const pipeline = [
      {
        $match: {
          $or: [
            { "ns.coll": this.#deps.events.collection.collectionName, operationType: "insert" },
            { $and: [{ "ns.coll": this.#deps.keys.changes.collection }, this.#deps.keys.changes.filter] },
          ],
        },
      },
      // The access record of an agent isn't needed, and has the hashes of its keys.
      { $project: { ns: 1, documentKey: 1, fullDocument: eventsOnly(this.#deps.events) } },
    ];
    const changes = this.#deps.connection.getClient().db(this.#deps.connection.name).watch<Change, Change>(pipeline);
    const close = () => void changes.close().catch(() => undefined);
    this.#deps.shutdown.addEventListener("abort", close, { once: true });
    try {
      let change = await changes.tryNext();
      // The change stream is open, so what the log has now and what changes from now on is everything.
      await Promise.all([this.#catchUp(), this.#checkKeys([...this.#byAgent.keys()])]);
      for (;;) {
        if (change !== null) await this.#take(change);
        change = await changes.next();
      }
    } finally {
      this.#deps.shutdown.removeEventListener("abort", close);
      close();
    }
  }

  async #take({ ns, documentKey, fullDocument }: Change): Promise<void> {
    if (ns.coll === this.#deps.keys.changes.collection) {
      if (this.#byAgent.has(documentKey._id)) await this.#checkKeys([documentKey._id]);
    } else if (fullDocument !== undefined) this.#announce(fullDocument);
  }

  async #followForever(): Promise<void> {
    while (!this.#isStopping()) {
      try {
        await this.#follow();
      } catch (error) {
        if (this.#isStopping()) return;
        this.#deps.logger.warn({ err: error }, "lost the change stream of events; opening another");
        await sleep(RETRY_MS, undefined, { ref: false });
      }
    }
  }

  /** Renews the slots, and closes the streams that have lost theirs. */
  async #renew(): Promise<void> {
    const open = new Map([...this.#byId.values()].map(({ id, holder }) => [id, holder]));
    for (const id of await this.#deps.slots.renew(open)) this.#byId.get(id)?.end();
    // A safeguard: these two bound how long a silently broken change stream goes unnoticed.
    await this.#catchUp();
    await this.#checkKeys([...this.#byAgent.keys()]);
  }

  #start(): void {
    this.#isStarted = true;
    void this.#followForever();
    const timers = [
      setInterval(
        () => {
          this.#endExpired();
        },
        Math.min(TICK_MS, this.#deps.timings.streamStallMs),
      ),
      setInterval(() => {
        for (const stream of this.#byId.values()) stream.beat();
      }, this.#deps.timings.streamHeartbeatMs),
      setInterval(() => {
        this.#renew().catch((error: unknown) => {
          this.#deps.logger.warn({ err: error }, "couldn't renew the slots of event streams; trying again");
        });
      }, this.#deps.timings.streamLeaseMs / RENEWALS_PER_LEASE),
    ];
    for (const timer of timers) timer.unref();
    this.#deps.shutdown.addEventListener("abort", () => {
      for (const timer of timers) clearInterval(timer);
    });
  }
}

/** The document of an inserted event, and of nothing else. */
function eventsOnly(events: EventModel) {
  return { $cond: [{ $eq: ["$ns.coll", events.collection.collectionName] }, "$fullDocument", "$$REMOVE"] };
}
