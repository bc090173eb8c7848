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
  error?: string;
}

const CHECK_TIMEOUT_MS = 2_000;

/** Asks every dependency at the same time, none longer than two seconds. */
export async function checkDependencies(dependencies: readonly Dependency[]): Promise<DependencyState[]> {
  return Promise.all(dependencies.map(checkOne));
}

async function checkOne(dependency: Dependency): Promise<DependencyState> {
  const { name } = dependency;
  const startedAt = performance.now();
  const latencyMs = () => Math.round(performance.now() - startedAt);
  try {
    const facts = await withTimeout(name, CHECK_TIMEOUT_MS, (signal) => dependency.check(signal));
    return { name, ok: true, latencyMs: latencyMs(), facts };
  } catch (error) {
    return { name, ok: false, latencyMs: latencyMs(), error: error instanceof Error ? error.message : String(error) };
  }
}
