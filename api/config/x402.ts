import { getAddress, isAddress, parseUnits } from "viem";
import { z } from "zod";

import { NETWORKS, USDC_DECIMALS, X402_PRICES_USD } from "./constants.ts";
import type { CallClass, Network } from "./constants.ts";
import { facilitatorSecret } from "./facilitator-key.ts";
import type { FacilitatorKey } from "./facilitator-key.ts";
import { privateKey } from "./private-key.ts";

/** How payments per call are taken. */
export interface X402Settings {
  /** Network of the payments. */
  network: Network;
  /** Recipient of the payments; undefined if calls can't be paid for. */
  payTo: `0x${string}` | undefined;
  /** Service that verifies and settles signed payments; null if there is none. */
  facilitatorUrl: string | null;
  /** Authorises requests to that service; undefined if it wants no authorisation. */
  facilitatorKey: FacilitatorKey | undefined;
  /** Key that settles signed payments without a facilitator. It pays for gas and never holds agents' funds. */
  settlementKey: `0x${string}` | undefined;
  /** Price of one call in units of USDC (6 decimals). */
  prices: Readonly<Record<CallClass, bigint>>;
  /** Sizes of the prepaid packs, in calls. */
  packCalls: readonly number[];
  /** How long verification and settlement may take before their outcome counts as unknown, in milliseconds. */
  timeoutMs: number;
}

const MAX_PACKS = 10;
const MAX_PACK_CALLS = 10_000_000;

/** A price in US dollars; one that isn't a whole number of USDC units can't be paid. */
const price = z
  .string()
  .regex(/^\d{1,9}(\.\d{1,6})?$/, "must be a decimal number of US dollars with 6 decimal places at most")
  .transform((text) => parseUnits(text, USDC_DECIMALS))
  .refine((units) => units > 0n, "must be positive");

const priceOf = (kind: CallClass) => price.default(parseUnits(X402_PRICES_USD[kind], USDC_DECIMALS));

const packSizes = z
  .string()
  .regex(/^\d{1,8}(,\d{1,8})*$/, "must be whole numbers, separated by commas")
  .transform((text) => [...new Set(text.split(",").map(Number))])
  .refine((sizes) => sizes.length <= MAX_PACKS, `must be at most ${MAX_PACKS} numbers`)
  .refine(
    (sizes) => sizes.every((size) => size > 0 && size <= MAX_PACK_CALLS),
    `must be numbers from 1 to ${MAX_PACK_CALLS}`,
  );

function hasNoCredentials(text: string): boolean {
  const url = URL.parse(text);
  return url === null || (url.username === "" && url.password === "");
}

/** Variables of the payments. */
export const x402Variables = {
  X402_NETWORK: z.enum(NETWORKS).default("base-sepolia"),
  X402_PAY_TO: z
    .string()
    .refine((text) => isAddress(text), "must be an address")
    .transform((text) => getAddress(text))
    .optional(),
  // Every 402 shows it.
  X402_FACILITATOR_URL: z
    .url({ protocol: /^https?$/, error: "must be an http or https address" })
    .refine(hasNoCredentials, "is public and must not contain a user name or password")
    .optional(),
  X402_FACILITATOR_KEY_ID: z
    .string()
    .regex(/^[\x21-\x7e]{1,256}$/, "must be 1 to 256 visible ASCII characters")
    .optional(),
  X402_FACILITATOR_KEY_SECRET: facilitatorSecret.optional(),
  X402_SETTLEMENT_KEY: privateKey.optional(),
  X402_PRICE_API: priceOf("api"),
  X402_PRICE_MESSAGE: priceOf("message"),
  X402_PRICE_SEARCH: priceOf("search"),
  X402_PRICE_TRANSACTION: priceOf("transaction"),
  X402_PACK_CALLS: packSizes.default([1_000, 10_000]),
  X402_TIMEOUT_MS: z
    .string()
    .regex(/^\d{1,6}$/, "must be a whole number")
    .transform(Number)
    .pipe(z.number().min(100, "must be at least 100").max(60_000, "must be at most 60000"))
    .default(15_000),
};

type X402Variables = z.output<z.ZodObject<typeof x402Variables>>;

/** The payments as configured. */
export function x402Settings(env: X402Variables): X402Settings {
  const prices = {
    api: env.X402_PRICE_API,
    message: env.X402_PRICE_MESSAGE,
    search: env.X402_PRICE_SEARCH,
    transaction: env.X402_PRICE_TRANSACTION,
  } satisfies Record<CallClass, bigint>;
  const { X402_FACILITATOR_KEY_ID: id, X402_FACILITATOR_KEY_SECRET: secret } = env;
  return {
    network: env.X402_NETWORK,
    payTo: env.X402_PAY_TO,
    facilitatorUrl: env.X402_FACILITATOR_URL ?? null,
    facilitatorKey: id === undefined || secret === undefined ? undefined : { id, privateKey: secret },
    settlementKey: env.X402_SETTLEMENT_KEY,
    prices,
    packCalls: env.X402_PACK_CALLS,
    timeoutMs: env.X402_TIMEOUT_MS,
  };
}

/** Problems of the variables in combination. */
export function x402Problems(env: X402Variables): string[] {
  const problems: string[] = [];
  if (env.X402_FACILITATOR_URL !== undefined && env.X402_SETTLEMENT_KEY !== undefined) {
    problems.push("X402_FACILITATOR_URL and X402_SETTLEMENT_KEY exclude each other: one of them settles payments");
  }
  for (const name of ["X402_FACILITATOR_URL", "X402_SETTLEMENT_KEY"] as const) {
    if (env[name] !== undefined && env.X402_PAY_TO === undefined) problems.push(`${name} needs X402_PAY_TO`);
  }
  const keyParts = ["X402_FACILITATOR_KEY_ID", "X402_FACILITATOR_KEY_SECRET"] as const;
  const given = keyParts.filter((name) => env[name] !== undefined);
  if (given.length === 1) problems.push(`${keyParts.join(" and ")} need each other`);
  if (given.length > 0 && env.X402_FACILITATOR_URL === undefined) {
    problems.push(`${given.join(" and ")} need X402_FACILITATOR_URL`);
  }
  return problems;
}
