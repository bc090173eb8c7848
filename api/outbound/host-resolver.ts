import { lookup, Resolver } from "node:dns/promises";

/** An address that a name resolved to. */
export interface ResolvedAddress {
  address: string;
  family: 4 | 6;
}

/** Resolves a name to all its addresses, without a cache, until the signal aborts. */
export type ResolveHost = (hostname: string, signal: AbortSignal) => Promise<ResolvedAddress[]>;

/** Settings of the resolver. */
export interface HostResolverOptions {
  /** Names that the machine itself resolves, including its hosts file. The operator sets them, never an agent. */
  systemHosts: readonly string[];
  /** Maximum time for all queries about one name, in milliseconds; default 5 s. */
  timeoutMs?: number;
  /** DNS servers as `address:port`; by default those of the machine. */
  servers?: readonly string[];
}

const DEFAULT_TIMEOUT_MS = 5_000;
/** A server that doesn't answer within this time is asked once more. */
const TRY_TIMEOUT_MS = 2_000;
const TRIES = 2;

/** Codes for a name that doesn't exist or has no address of this family. */
const NOTHING_THERE = new Set(["ENOTFOUND", "ENODATA", "EBADNAME"]);

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code);

/** True if the DNS answered that the name doesn't exist; false if it didn't answer. */
export function isUnknownHost(error: unknown): boolean {
  return NOTHING_THERE.has(codeOf(error));
}

/**
 * Queries the DNS over its own sockets. `dns.lookup` occupies one of the process's few threads until the name's server
 * has answered, so one agent's slow server would hold up every other name, file and cipher. Nothing is cached, so each
 * send sees the name as it is now.
 */
export function createHostResolver(options: HostResolverOptions): ResolveHost {
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const systemHosts = new Set(["localhost", ...options.systemHosts]);

  async function ask(hostname: string, callerSignal: AbortSignal): Promise<ResolvedAddress[]> {
    const timedOut = AbortSignal.timeout(timeoutMs);
    const signal = AbortSignal.any([callerSignal, timedOut]);
    signal.throwIfAborted();
    const resolver = new Resolver({ timeout: TRY_TIMEOUT_MS, tries: TRIES });
    if (options.servers !== undefined) resolver.setServers(options.servers);
    const cancel = () => {
      resolver.cancel();
    };
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
      const addresses = answers.flatMap((answer, index) =>
        answer.status === "fulfilled"
          ? answer.value.map((address): ResolvedAddress => ({ address, family: index === 0 ? 4 : 6 }))
          : [],
      );
      if (addresses.length > 0) return addresses;
      // No answer about one family outweighs "nothing there" about the other: the name may have only the first.
      const failures = answers.flatMap((answer): unknown[] => (answer.status === "rejected" ? [answer.reason] : []));
      if (timedOut.aborted) throw new Error(`the DNS didn't answer within ${timeoutMs} ms`);
      throw failures.find((error) => !isUnknownHost(error)) ?? failures[0];
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  return async (hostname, signal) => {
    if (!systemHosts.has(hostname)) return ask(hostname, signal);
    const answers = await lookup(hostname, { all: true, order: "verbatim" });
    return answers.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
  };
}
