import { readFile } from "node:fs/promises";

import { getAddress, isAddress } from "viem";
import { z } from "zod";

import { CHAIN_IDS } from "../config/constants.ts";
import type { Network } from "../config/constants.ts";
import { DeploymentFileError } from "./errors.ts";

const address = z
  .string()
  .refine((text) => isAddress(text, { strict: false }), "not an address")
  .transform((text) => getAddress(text));

const contract = z.object({ proxy: address });

const deploymentSchema = z.object({
  network: z.enum(["base-sepolia", "base"]),
  chainId: z.int().positive(),
  startBlock: z.int().nonnegative(),
  contracts: z.object({ escrow: contract, score: contract, resolver: contract }),
  tokens: z
    .array(
      z.object({
        symbol: z.string().min(1),
        address,
        decimals: z.int().min(0).max(36),
        feed: address,
        maxPriceAge: z.int().nonnegative(),
        minAmount: z.union([z.string().regex(/^\d+$/), z.int().nonnegative()]).transform((value) => BigInt(value)),
      }),
    )
    .min(1),
});

/** A token that the deployment lists. `minAmount` is in token units, `maxPriceAge` in seconds. */
export interface DeployedToken {
  symbol: string;
  address: `0x${string}`;
  decimals: number;
  /** USD price feed; the zero address if one token counts as one US dollar. */
  feed: `0x${string}`;
  maxPriceAge: number;
  minAmount: bigint;
}

/** The deployment file of one network, from `hardhat deploy`: the addresses of the proxies, and the tokens for new escrows. */
export interface Deployment {
  network: Network;
  chainId: number;
  startBlock: number;
  escrow: `0x${string}`;
  score: `0x${string}`;
  resolver: `0x${string}`;
  tokens: DeployedToken[];
}

/** Reads and validates a network's deployment file. @throws DeploymentFileError naming the file and every fault */
export async function readDeployment(path: string, network: Network): Promise<Deployment> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    throw new DeploymentFileError(`Can't read deployment file ${path}: deploy the contracts first`, { cause });
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new DeploymentFileError(`Deployment file ${path} isn't JSON`, { cause });
  }
  const parsed = deploymentSchema.safeParse(json);
  if (!parsed.success) {
    throw new DeploymentFileError(`Deployment file ${path} is malformed:\n${z.prettifyError(parsed.error)}`);
  }
  const { contracts, ...rest } = parsed.data;
  if (rest.network !== network || rest.chainId !== CHAIN_IDS[network]) {
    throw new DeploymentFileError(
      `Deployment file ${path} is for ${rest.network} (chain ${rest.chainId}), ` +
        `but ${network} (chain ${CHAIN_IDS[network]}) is expected here`,
    );
  }
  return {
    ...rest,
    escrow: contracts.escrow.proxy,
    score: contracts.score.proxy,
    resolver: contracts.resolver.proxy,
  };
}
