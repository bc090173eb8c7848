import { getAddress, isAddress } from "viem";
import { z } from "zod";

import type { Network } from "./constants.ts";

/** Registries of identities (ERC-8004) by network. */
export type IdentityRegistries = Readonly<Record<Network, `0x${string}`>>;

/** Where the standard's authors have deployed them; deploy/networks.ts says where that is written. The local chains have ours there. */
const PUBLISHED = {
  testnet: "0x8004A818BFB912233c491871b3d84c89A494BD9e",
  mainnet: "0x8004A169FB4a3325136EB29fA0ceB6D2e539a432",
} as const;

const contractAddress = z
  .string()
  .refine(
    (text) => isAddress(text),
    "must be an address: 0x and 40 hexadecimal digits, in lower case or with its checksum",
  )
  .transform((text) => getAddress(text));

/** Variables of the registries. */
export const identityRegistryVariables = {
  ERC8004_IDENTITY_REGISTRY_BASE_SEPOLIA: contractAddress.default(PUBLISHED.testnet),
  ERC8004_IDENTITY_REGISTRY_BASE: contractAddress.default(PUBLISHED.mainnet),
};

/** The registries as configured. */
export function identityRegistries(env: z.output<z.ZodObject<typeof identityRegistryVariables>>): IdentityRegistries {
  return { "base-sepolia": env.ERC8004_IDENTITY_REGISTRY_BASE_SEPOLIA, base: env.ERC8004_IDENTITY_REGISTRY_BASE };
}
