import { isAddress } from "viem";
import { z } from "zod";

import { readPrivateFile, writePrivateFile } from "./private-files.ts";
import type { Seal } from "./seal.ts";
import { parseUsd } from "./usd.ts";
import { WalletError } from "./wallet-error.ts";

const usd = z
  .string()
  .refine((text) => parseUsd(text) !== undefined, "must be a decimal number with up to 6 decimals, such as 12.50");
const list = <Item extends z.ZodType>(item: Item) => z.array(item).max(1_000);

const limitsSchema = z.strictObject({
  /** Most for one deal, and for one call that is paid by x402. US dollars. */
  perDealUsd: usd,
  /** Most for a UTC day. */
  perDayUsd: usd,
  /** Most for ever. */
  totalUsd: usd,
  /** A deal above it needs `agent-marketplace approve`; null if none does. */
  confirmAboveUsd: usd.nullable(),
  /** Categories that may be bought. An empty list bounds nothing, here and below. */
  categories: list(z.string().min(1).max(100)),
  /** Wallets that may be paid. */
  sellers: list(z.string().refine((text) => isAddress(text, { strict: false }), "must be an address")),
  networks: list(z.enum(["base-sepolia", "base"])),
  /** Whether only orders with criteria are paid for. */
  requireCriteria: z.boolean(),
});

/** What the wallet may spend, and on what. Amounts are US dollars as decimal texts. */
export type Limits = z.output<typeof limitsSchema>;

/** Limits of a new wallet. */
export const DEFAULT_LIMITS: Readonly<Limits> = {
  perDealUsd: "10",
  perDayUsd: "25",
  totalUsd: "100",
  confirmAboveUsd: "5",
  categories: [],
  sellers: [],
  networks: [],
  requireCriteria: false,
};

/** Checks limits that a person gave. @throws WalletError `invalid_limits`, naming each field and its bound */
export function parseLimits(given: unknown): Limits {
  const parsed = limitsSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "limits"}: ${message}`);
  throw new WalletError("invalid_limits", issues.join("; "), "Correct the named fields and run it again.");
}

/**
 * Reads the limits.
 * @param isLatest whether these are the limits that the ledger names, and no earlier ones
 * @throws WalletError `limits_broken` if they are missing, altered or replaced by earlier ones
 */
export async function readLimits(file: string, seal: Seal, isLatest: (hash: string) => boolean): Promise<Limits> {
  const text = await readPrivateFile(file);
  const parsed = limitsSchema.safeParse(text === undefined ? undefined : seal.open(text));
  if (parsed.success && isLatest(hashOf(seal, parsed.data))) return parsed.data;
  let how = "was altered, or isn't this wallet's";
  if (text === undefined) how = "is missing";
  else if (parsed.success) how = "isn't the latest, which the ledger names";
  const message = `${file} ${how}. The wallet spends nothing without its limits.`;
  throw new WalletError("limits_broken", message, "Set them again, with the password: agent-marketplace limits set");
}

export async function writeLimits(file: string, seal: Seal, limits: Limits): Promise<void> {
  await writePrivateFile(file, seal.close(limits));
}

/** Names limits in the ledger, so that earlier ones can't come back. */
export function hashOf(seal: Seal, limits: Limits): string {
  return seal.macOf(limits);
}
