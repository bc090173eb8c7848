import { createPublicClient, http, numberToHex } from "viem";

import { NETWORKS } from "../config/constants.ts";
import type { Network } from "../config/constants.ts";
import type { ChainHead } from "./chain-client.ts";
import { ChainUnavailableError } from "./errors.ts";
import { fetchWithin, isUnreachable } from "./rpc.ts";

/** The node of a local chain, for what only such a node can do. */
export interface LocalNode {
  /** Whether the node says that it is anvil. False if it doesn't answer. */
  isAnvil(): Promise<boolean>;
  /** The chain's time in unix seconds. @throws ChainUnavailableError */
  time(): Promise<number>;
  /**
   * Moves the chain's clock forward and mines a block. Moves made at the same time add up.
   * @returns a block that has the new time
   * @throws ChainUnavailableError, after which the clock may have moved
   */
  advance(seconds: number): Promise<Pick<ChainHead, "number" | "timestamp">>;
}

const TIMEOUT_MS = 5_000;

/** Whether every node is anvil. A chain id proves nothing: the local chains have those of the live ones. */
export async function areAnvil(nodes: Readonly<Record<Network, Pick<LocalNode, "isAnvil">>>): Promise<boolean> {
  const answers = await Promise.all(NETWORKS.map((network) => nodes[network].isAnvil()));
  return answers.every(Boolean);
}

/** Creates the client of a local chain's node. */
export function createLocalNode({ network, rpcUrl }: { network: Network; rpcUrl: string }): LocalNode {
  const transport = http(rpcUrl, { timeout: TIMEOUT_MS, fetchFn: fetchWithin(TIMEOUT_MS), retryCount: 0 });
  const client = createPublicClient({ transport });
  // Only anvil has these methods.
  const send = (method: "evm_increaseTime" | "evm_mine", params: readonly unknown[]) =>
    client.request({ method: method as never, params: params as never });

  async function reachable<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (isUnreachable(error)) throw new ChainUnavailableError(network, error);
      throw error;
    }
  }

  return {
    async isAnvil() {
      const version = await client.request({ method: "web3_clientVersion" }).catch(() => "");
      return /^anvil\//i.test(version);
    },
    time: () => reachable(async () => Number((await client.getBlock()).timestamp)),
    advance: (seconds) =>
      reachable(async () => {
        await send("evm_increaseTime", [numberToHex(seconds)]);
        await send("evm_mine", []);
        const { number, timestamp } = await client.getBlock();
        return { number: Number(number), timestamp: Number(timestamp) };
      }),
  };
}
