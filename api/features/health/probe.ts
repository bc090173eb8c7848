import type { Logger } from "../../lib/logger.ts";
import { withTimeout } from "../../lib/timeout.ts";

/** How one thing that the service needs is. */
export interface Probe<Facts> {
  ok: boolean;
  latencyMs: number;
  /** What it said; undefined when it is unavailable. */
  facts?: Facts;
  /** Kind of the failure. The details are in the log: they may name inner addresses. */
  error?: string;
}

const PROBE_TIMEOUT_MS = 2_000;

/** Asks one dependency, no longer than two seconds. Never throws. */
export async function probe<Facts>(name: string, log: Logger, check: () => Promise<Facts>): Promise<Probe<Facts>> {
  const startedAt = performance.now();
  const latencyMs = () => Math.round(performance.now() - startedAt);
  try {
    const facts = await withTimeout(name, PROBE_TIMEOUT_MS, check);
    return { ok: true, latencyMs: latencyMs(), facts };
  } catch (error) {
    log.warn({ err: error, dependency: name }, "a dependency is unavailable");
    return { ok: false, latencyMs: latencyMs(), error: error instanceof Error ? error.name : "Error" };
  }
}
