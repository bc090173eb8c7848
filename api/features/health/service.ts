import type { Logger } from "../../lib/logger.ts";
import { withTimeout } from "../../lib/timeout.ts";

/** One thing that the API needs, and how to ask whether it is there. */
export interface Dependency {
  /** For example `mongodb`, `rpc:base`, `subgraph:base-sepolia`. */
  name: string;
  /** Facts about it when it is there. Throws when it is not. */
  check(signal: AbortSignal): Promise<Readonly<Record<string, string | number | boolean | null>>>;
}

/** How a dependency is. */
export interface DependencyState {
  name: string;
  ok: boolean;
  latencyMs: number;
  facts?: Readonly<Record<string, string | number | boolean | null>>;
  /** Kind of the failure. What failed in detail is in the log: it may name inner addresses. */
  error?: string;
}

const CHECK_TIMEOUT_MS = 2_000;

/** Asks every dependency at the same time, none longer than two seconds. */
export async function checkDependencies(dependencies: readonly Dependency[], log: Logger): Promise<DependencyState[]> {
  return Promise.all(dependencies.map((dependency) => checkOne(dependency, log)));
}

async function checkOne(dependency: Dependency, log: Logger): Promise<DependencyState> {
  const { name } = dependency;
  const startedAt = performance.now();
  const latencyMs = () => Math.round(performance.now() - startedAt);
  try {
    const facts = await withTimeout(name, CHECK_TIMEOUT_MS, (signal) => dependency.check(signal));
    return { name, ok: true, latencyMs: latencyMs(), facts };
  } catch (error) {
    log.warn({ err: error, dependency: name }, "a dependency is away");
    return { name, ok: false, latencyMs: latencyMs(), error: error instanceof Error ? error.name : "Error" };
  }
}
