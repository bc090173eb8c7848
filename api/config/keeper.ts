import { privateKeyToAddress } from "viem/accounts";
import { z } from "zod";

import { NETWORKS } from "./constants.ts";
import type { Network } from "./constants.ts";
import { privateKey } from "./private-key.ts";

/** The wallet that ends deals which nobody else ends. */
export interface KeeperSettings {
  /** Undefined for a service that sends no transactions of this kind. */
  privateKey: `0x${string}` | undefined;
  /** Most that its transactions may cost in a UTC day on a network, in wei. */
  dailyCapWei: Readonly<Record<Network, bigint>>;
}

/** 0.01 ether: thousands of transactions at the usual fees of Base. */
const DEFAULT_CAP_WEI = "10000000000000000";

const wei = z
  .string()
  .regex(/^\d{1,24}$/, "must be a whole number of wei")
  .default(DEFAULT_CAP_WEI)
  .transform(BigInt);

/** Variables of the keeper. */
export const keeperVariables = {
  KEEPER_PRIVATE_KEY: privateKey.optional(),
  KEEPER_DAILY_CAP_WEI_BASE_SEPOLIA: wei,
  KEEPER_DAILY_CAP_WEI_BASE: wei,
};

type KeeperVariables = z.output<z.ZodObject<typeof keeperVariables>>;

/** The settings of the keeper as configured. */
export function keeperSettings(env: KeeperVariables): KeeperSettings {
  return {
    privateKey: env.KEEPER_PRIVATE_KEY,
    dailyCapWei: {
      "base-sepolia": env.KEEPER_DAILY_CAP_WEI_BASE_SEPOLIA,
      base: env.KEEPER_DAILY_CAP_WEI_BASE,
    },
  };
}

/** Variables with keys of other wallets. Two senders of one wallet would take each other's nonces. */
const OTHER_KEYS = [
  ...NETWORKS.flatMap((network) => {
    const suffix = network.toUpperCase().replace("-", "_");
    return [`RESOLVER_KEY_${suffix}`, `ADMIN_RESOLVER_KEY_${suffix}`];
  }),
  "X402_SETTLEMENT_KEY",
];

/** What is wrong with the variables together. */
export function keeperProblems(env: KeeperVariables & Readonly<Record<string, unknown>>): string[] {
  const { KEEPER_PRIVATE_KEY: key } = env;
  if (key === undefined) return [];
  const address = privateKeyToAddress(key);
  return OTHER_KEYS.filter((name) => {
    const other = env[name];
    return typeof other === "string" && privateKeyToAddress(other as `0x${string}`) === address;
  }).map((name) => `KEEPER_PRIVATE_KEY is the key of ${name}: each needs a wallet of its own`);
}
