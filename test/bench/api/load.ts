import { readFileSync } from "node:fs";

import { Pool } from "undici";

/** One HTTP call. */
export interface Call {
  method: "GET" | "POST";
  path: string;
  headers: Record<string, string>;
  body?: string;
  /** Status of a call that worked. */
  status: number;
}

/** A server under load. */
export interface Target {
  url: string;
  pid: number;
}

/** What a load measured. */
export interface Measured {
  callsPerSecond: number;
  p99Ms: number;
  /** CPU time of the server's process for a call, in milliseconds. */
  cpuMsPerCall: number;
}

/** Linux counts the CPU time of a process in hundredths of a second. */
const MS_PER_TICK = 10;
/** Position of `utime` and `stime` among the fields that follow the name of the program in /proc/PID/stat. */
const UTIME = 11;
const STIME = 12;

/** CPU time that a process has had, in milliseconds. */
export function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[UTIME]) + Number(fields[STIME])) * MS_PER_TICK;
}

/** The value below which `share` of the samples lie. */
function percentile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

export function median(samples: readonly number[]): number {
  return percentile(samples, 0.5);
}

/**
 * Keeps `connections` calls under way for some seconds: each connection sends its next call when it has an answer.
 * @param next the next call of a connection
 * @throws Error for an answer of another status than the call names
 */
export async function load(
  { url, pid }: Target,
  { seconds, connections, next }: { seconds: number; connections: number; next: (connection: number) => Call },
): Promise<Measured> {
  const pool = new Pool(url, { connections, pipelining: 1 });
  const latencies: number[] = [];
  const cpuBefore = cpuMsOf(pid);
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;
  await Promise.all(
    Array.from({ length: connections }, async (_, connection) => {
      while (performance.now() < endsAt) {
        const { status, ...call } = next(connection);
        const sentAt = performance.now();
        const answer = await pool.request(call);
        const text = await answer.body.text();
        latencies.push(performance.now() - sentAt);
        if (answer.statusCode !== status) throw new Error(`${call.path}: ${answer.statusCode} ${text}`);
      }
    }),
  );
  const elapsed = performance.now() - startedAt;
  const cpuMs = cpuMsOf(pid) - cpuBefore;
  await pool.close();
  return {
    callsPerSecond: (latencies.length / elapsed) * 1_000,
    p99Ms: percentile(latencies, 0.99),
    cpuMsPerCall: cpuMs / latencies.length,
  };
}
