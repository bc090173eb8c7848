import { privateKeyToAddress } from "viem/accounts";
import { z } from "zod";

import { NETWORKS } from "./constants.ts";
import type { Network } from "./constants.ts";
import { privateKey } from "./private-key.ts";

/** The wallet that finalizes deals and ends expired disputes if nobody else does. */
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

/** The variables that determine the senders' keys. */
type SenderVariables = KeeperVariables & { X402_NETWORK: Network } & Readonly<Record<string, unknown>>;

/** Variables with the keys that send on a network. */
function sendersOn(network: Network, x402Network: Network): string[] {
  const suffix = network.toUpperCase().replace("-", "_");
  return [
    ...["KEEPER_PRIVATE_KEY", ...(network === x402Network ? ["X402_SETTLEMENT_KEY"] : [])],
    ...[`ADMIN_RESOLVER_KEY_${suffix}`, `RESOLVER_KEY_${suffix}`],
  ];
}

/** Problems of the senders' keys in combination. Two senders of one wallet would take each other's nonces. */
export function senderProblems(env: SenderVariables): string[] {
  return NETWORKS.flatMap((network) => {
    const senders = sendersOn(network, env.X402_NETWORK).flatMap((name) => {
      const key = env[name];
      return typeof key === "string" ? [{ name, address: privateKeyToAddress(key as `0x${string}`) }] : [];
    });
    return senders.flatMap(({ name, address }, index) =>
      senders
        .slice(index + 1)
        .filter((other) => other.address === address)
        .map((other) => `${name} is the key of ${other.name}: each needs a wallet of its own`),
    );
  });
}
