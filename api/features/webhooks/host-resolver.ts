import { lookup, Resolver } from "node:dns/promises";

/** An address that a name resolved to. */
export interface ResolvedAddress {
  address: string;
  family: 4 | 6;
}

/** Asks for every address of a name, anew each time, until the signal. */
export type ResolveHost = (hostname: string, signal: AbortSignal) => Promise<ResolvedAddress[]>;

/** Settings of the resolver. */
export interface HostResolverOptions {
  /** Names that the machine itself is asked for, its hosts file included: the operator's own, never an agent's. */
  systemHosts: readonly string[];
  /** Longest time for all questions about one name, in milliseconds; default 5 s. */
  timeoutMs?: number;
  /** DNS servers as `address:port`; those of the machine when left out. */
  servers?: readonly string[];
}

const DEFAULT_TIMEOUT_MS = 5_000;
/** A server that does not answer within this time is asked once more. */
const TRY_TIMEOUT_MS = 2_000;
const TRIES = 2;

/** Codes that say that the name, or an address of this family, does not exist. */
const NOTHING_THERE = new Set(["ENOTFOUND", "ENODATA", "EBADNAME"]);

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code);

/** True when the DNS has said that there is no such name; false when it has not said anything. */
export function isUnknownHost(error: unknown): boolean {
  return NOTHING_THERE.has(codeOf(error));
}

/**
 * Asks the DNS by sockets of its own. `dns.lookup` occupies one of the process' few threads until the name's own server
 * has answered: an agent whose server takes its time would hold up every other name, file and cipher. Nothing is kept
 * from one question to the next, so that each sending sees the name as it is now.
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
      // Silence about one family says more than "nothing there" about the other: it may be the name's only one.
      const failures = answers.flatMap((answer): unknown[] => (answer.status === "rejected" ? [answer.reason] : []));
      if (timedOut.aborted) throw new Error(`the DNS gave no answer within ${timeoutMs} ms`);
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
