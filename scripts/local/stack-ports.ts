import type { GraphPorts } from "./graph-node.ts";
import type { NetworkName } from "./networks.ts";

/** Every port of a stack. All are on loopback except graph-node's, which are on all addresses. */
export interface StackPorts {
  readonly api: number;
  readonly chains: Readonly<Record<NetworkName, number>>;
  readonly postgres: number;
  readonly mongo: number;
  readonly ipfs: number;
  readonly graph: Readonly<Record<NetworkName, GraphPorts>>;
  /** The chains' JSON-RPC as graph-node reads it. */
  readonly graphRpc: Readonly<Record<NetworkName, number>>;
}

const DEFAULT_API = 3_000;
const DEFAULT_CHAINS = 8_545;
/** How many consecutive ports a stack needs. */
export const PORTS_PER_STACK = 16;

/**
 * The ports of a stack: the well-known ones (API 3000, chains 8545 and 8546, the rest behind them), or `portBase` and
 * the fifteen after it.
 * @param apiPort replaces the API's port
 */
export function stackPorts(portBase?: number, apiPort?: number): StackPorts {
  const chains = portBase === undefined ? DEFAULT_CHAINS : portBase + 1;
  const graphPorts = (first: number): GraphPorts => ({
    http: first,
    index: first + 1,
    admin: first + 2,
    metrics: first + 3,
  });
  return {
    api: apiPort ?? portBase ?? DEFAULT_API,
    chains: { "base-sepolia": chains, base: chains + 1 },
    postgres: chains + 2,
    mongo: chains + 3,
    ipfs: chains + 4,
    graph: { "base-sepolia": graphPorts(chains + 5), base: graphPorts(chains + 9) },
    graphRpc: { "base-sepolia": chains + 13, base: chains + 14 },
  };
}
