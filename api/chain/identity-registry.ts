import { BaseError, ContractFunctionRevertedError, ContractFunctionZeroDataError, parseAbi, zeroAddress } from "viem";
import type { Address } from "viem";

import { CHAIN_IDS } from "../config/constants.ts";
import type { Network } from "../config/constants.ts";
import { ChainUnavailableError, WrongChainError } from "./errors.ts";
import { createRpc } from "./rpc.ts";

/** The part of an identity registry (ERC-8004) that is read here. */
const registryAbi = parseAbi([
  "error ERC721NonexistentToken(uint256 tokenId)",
  "function ownerOf(uint256 agentId) view returns (address)",
  "function getAgentWallet(uint256 agentId) view returns (address)",
]);

/** An identity in the latest block. */
export interface RegisteredIdentity {
  /** The wallet that it is paid to; null after the identity changed hands, until the new owner proves one. */
  wallet: Address | null;
}

/** Reads the identity registry of one network. It holds no key and sends nothing. */
export interface IdentityRegistry {
  readonly address: Address;
  /**
   * An identity by its id; null if nobody has registered it.
   * @throws ChainUnavailableError if the server is unreachable, serves another chain, or has no registry at the address
   */
  read(id: number): Promise<RegisteredIdentity | null>;
}

/** Settings of a registry. */
export interface IdentityRegistryOptions {
  network: Network;
  rpcUrl: string;
  address: Address;
}

const TIMEOUT_MS = 3_000;
const ATTEMPTS = 2;

/** Creates a reader of an identity registry, with bounded time and retries. */
export function createIdentityRegistry({ network, rpcUrl, address }: IdentityRegistryOptions): IdentityRegistry {
  const rpc = createRpc({ network, rpcUrl, timeoutMs: TIMEOUT_MS, attempts: ATTEMPTS });
  let isRightChain = false;
  async function assertChain(): Promise<void> {
    if (isRightChain) return;
    const actual = await rpc((client) => client.getChainId());
    if (actual !== CHAIN_IDS[network]) throw new WrongChainError(network, CHAIN_IDS[network], actual);
    isRightChain = true;
  }
  return {
    address,

    async read(id) {
      await assertChain();
      const call = { address, abi: registryAbi, args: [BigInt(id)] } as const;
      try {
        // The wallet of an unknown id is the zero address, like one that was taken away; only its owner's call reverts.
        const [, wallet] = await Promise.all([
          rpc((client) => client.readContract({ ...call, functionName: "ownerOf" })),
          rpc((client) => client.readContract({ ...call, functionName: "getAgentWallet" })),
        ]);
        return { wallet: wallet === zeroAddress ? null : wallet };
      } catch (error) {
        if (!(error instanceof BaseError)) throw error;
        if (error.walk((cause) => cause instanceof ContractFunctionRevertedError) !== null) return null;
        if (error.walk((cause) => cause instanceof ContractFunctionZeroDataError) === null) throw error;
        throw new ChainUnavailableError(network, error, `${network} has no identity registry at ${address}`);
      }
    },
  };
}
