import type { Logger } from "../../lib/logger.ts";
import { withTimeout } from "../../lib/timeout.ts";

/** The state of one dependency of the service. */
export interface Probe<Facts> {
  ok: boolean;
  latencyMs: number;
  /** Facts that it reported; undefined if it is unavailable. */
  facts?: Facts;
  /** Name of the failure. Details are only in the log, because they may contain internal addresses. */
  error?: string;
}

const PROBE_TIMEOUT_MS = 2_000;

/** Checks one dependency within two seconds. Never throws. */
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
