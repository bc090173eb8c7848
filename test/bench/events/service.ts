import { randomBytes } from "node:crypto";

import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { announcementOf, recordAll } from "../../fixtures/event-stream.ts";
import { agentIdOf, grantAccess, madeUpWallets } from "../api/callers.ts";
import { startApiServer, startWorkerProcess } from "../api/servers.ts";
import type { BenchServer } from "../api/servers.ts";
import { addressOf } from "../api/stack.ts";

/** What every part of `npm run bench:events` gets. */
export interface EventsBench {
  /** Factor of the sizes; 1 is the full measurement. */
  scale: number;
  /** For logs, and for CPU profiles if `profile` is set. */
  dir: string;
  profile: boolean;
  mongodbUri: string;
  say: (text: string) => void;
}

/** The result of a part. A fault is something that was lost, repeated or out of order. */
export interface PartResult {
  faults: string[];
  [figure: string]: unknown;
}

/** A size at the bench's scale. */
export function scaled({ scale }: EventsBench, size: number, least = 1): number {
  return Math.max(least, Math.round(size * scale));
}

/** An agent with a key. */
export interface BenchAgent {
  agentId: string;
  key: string;
}

/** An event to be recorded. */
export interface MarkedEvent {
  mark: number;
  agents: readonly BenchAgent[];
}

/** API and worker as processes of their own, on a database of their own. */
export interface BenchService {
  /** An API in the bench's process, on the same database: it registers agents and records events. */
  local: TestApi;
  server: BenchServer;
  /** Undefined unless asked for. */
  worker: Omit<BenchServer, "url"> | undefined;
  /** Gives new agents access. They have keys and no public record. */
  agents(count: number): Promise<BenchAgent[]>;
  /** Records events with marks, as the follower does, in one transaction. */
  record(...events: readonly MarkedEvent[]): Promise<void>;
  /** Sends JSON to the API process. @throws Error for another status than the expected one */
  call(agent: BenchAgent, method: string, path: string, status: number, body?: unknown): Promise<any>;
  stop(): Promise<void>;
}

/** Starts a service. */
export async function startService(
  bench: EventsBench,
  options: { worker: boolean; variables?: Record<string, string> },
): Promise<BenchService> {
  const { dir, profile, mongodbUri } = bench;
  const databaseName = `bench_events_${randomBytes(4).toString("hex")}`;
  const local = await startTestApi({ databaseName });
  const started = { databaseUri: addressOf(databaseName, mongodbUri), dir, profile };
  const server = await startApiServer({ ...started, variables: options.variables ?? {} });
  const worker = options.worker ? await startWorkerProcess(started) : undefined;
  return {
    local,
    server,
    worker,
    async agents(count) {
      const keys = await grantAccess(local.container.connection, madeUpWallets(count));
      return keys.map((key) => ({ agentId: agentIdOf(key), key }));
    },
    record: (...events) =>
      recordAll(
        local.container,
        events.map(({ mark, agents }) => {
          const recipients = agents.map(({ agentId }) => agentId);
          return announcementOf("bench", recipients, { type: "escrow.released", payload: { mark } });
        }),
      ),
    async call({ key }, method, path, status, body) {
      const answer = await fetch(server.url + path, {
        method,
        headers: { "x-api-key": key, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      if (answer.status !== status) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      return JSON.parse(text) as unknown;
    },
    async stop() {
      await Promise.all([server.stop(), worker?.stop()]);
      await local.close();
    },
  };
}
