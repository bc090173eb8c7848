import { formatUnits } from "viem";
import type { Hex } from "viem";
import { generateSiweNonce } from "viem/siwe";

import { requireObject, requireUnits, requireWallet } from "./arguments.ts";
import { ArgumentError } from "./errors.ts";
import type * as wire from "./generated/api-types.ts";
import type { Wallet } from "./wallet.ts";

type SignedTerms = NonNullable<wire.KeysIssueData["body"]["mandate"]>;

/** What a key may call, buy and spend. Amounts are millionths of a US dollar: $12.50 is `12_500_000n`. */
export interface Mandate extends Pick<SignedTerms, "scopes"> {
  /** The most for one purchase, for a UTC day, and in all. */
  perDealUsd: bigint;
  perDayUsd: bigint;
  totalUsd: bigint;
  /** When the key ends, within a year. */
  notAfter: Date;
  /** Categories of deals. Each of these lists bounds nothing if it is empty, as by default. */
  categories?: SignedTerms["categories"];
  /** Wallets of sellers. */
  sellers?: SignedTerms["sellers"];
  networks?: SignedTerms["networks"];
  /** Whether each checkout must have criteria; false by default. */
  requireCriteria?: boolean;
  /** What becomes of a checkout above an amount: it is refused (default), or the wallet may approve it. */
  onExceeded?: SignedTerms["onExceeded"];
}

const USD_DECIMALS = 6;
const MS = 1_000;

const TYPES = {
  Mandate: [
    { name: "wallet", type: "address" },
    { name: "host", type: "string" },
    { name: "nonce", type: "string" },
    { name: "issuedAt", type: "uint256" },
    { name: "notAfter", type: "uint256" },
    { name: "perDealUsd", type: "uint256" },
    { name: "perDayUsd", type: "uint256" },
    { name: "totalUsd", type: "uint256" },
    { name: "categories", type: "string[]" },
    { name: "sellers", type: "address[]" },
    { name: "networks", type: "string[]" },
    { name: "requireCriteria", type: "bool" },
    { name: "scopes", type: "string[]" },
    { name: "onExceeded", type: "string" },
  ],
} as const;

const isDate = (value: unknown): value is Date => value instanceof Date && !Number.isNaN(value.getTime());

/** Signs a mandate for the service (EIP-712). It is valid for ten minutes and makes one key. */
export async function signMandate(
  wallet: Wallet,
  serviceUrl: string,
  mandate: Mandate,
): Promise<{ mandate: SignedTerms; signature: Hex }> {
  requireWallet("wallet", wallet);
  requireObject("mandate", mandate);
  const { perDealUsd, perDayUsd, totalUsd } = mandate;
  for (const [name, amount] of Object.entries({ perDealUsd, perDayUsd, totalUsd })) {
    requireUnits(`mandate.${name}`, amount);
  }
  if (!isDate(mandate.notAfter)) throw new ArgumentError("mandate.notAfter", "a valid Date", mandate.notAfter);
  const { account } = wallet;
  const toUnits = (amount: bigint) => formatUnits(amount, USD_DECIMALS);
  const common = {
    wallet: account.address,
    host: new URL(serviceUrl).host,
    nonce: generateSiweNonce(),
    categories: mandate.categories ?? [],
    networks: mandate.networks ?? [],
    requireCriteria: mandate.requireCriteria ?? false,
    scopes: mandate.scopes,
    onExceeded: mandate.onExceeded ?? "refuse",
  };
  const sellers = mandate.sellers ?? [];
  const [issuedAt, notAfter] = [Math.floor(Date.now() / MS), Math.floor(mandate.notAfter.getTime() / MS)];
  const signature = await wallet.signTypedData({
    account,
    domain: { name: "Agent Marketplace", version: "1" },
    types: TYPES,
    primaryType: "Mandate",
    message: {
      ...common,
      sellers: sellers as Hex[],
      issuedAt: BigInt(issuedAt),
      notAfter: BigInt(notAfter),
      perDealUsd,
      perDayUsd,
      totalUsd,
    },
  });
  const amounts = {
    perDealUsd: toUnits(perDealUsd),
    perDayUsd: toUnits(perDayUsd),
    totalUsd: toUnits(totalUsd),
  };
  return { mandate: { ...common, sellers, issuedAt, notAfter, ...amounts }, signature };
}
