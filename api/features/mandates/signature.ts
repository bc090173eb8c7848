import { recoverTypedDataAddress } from "viem";
import type { Address, Hex } from "viem";

import { SIGN_IN_MAX_AGE_SECONDS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import type { ValidationIssue } from "../../http/errors.ts";
import type { Scope } from "../../http/scopes.ts";
import type { MandateTerms, ON_EXCEEDED } from "./model.ts";
import { toUsdUnits } from "./usd.ts";

/** A mandate as a wallet signs it and a request has it. Times are unix seconds, amounts US dollars such as `12.50`. */
export interface SignedMandate {
  wallet: Address;
  host: string;
  nonce: string;
  issuedAt: number;
  notAfter: number;
  perDealUsd: string;
  perDayUsd: string;
  totalUsd: string;
  categories: string[];
  sellers: Address[];
  networks: Network[];
  requireCriteria: boolean;
  scopes: Scope[];
  onExceeded: (typeof ON_EXCEEDED)[number];
}

/** The EIP-712 domain of mandates and approvals. It names no chain: `host` says which service a statement is for. */
export const DOMAIN = { name: "Agent Marketplace", version: "1" } as const;

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

/** How far a client's clock may be ahead of ours. */
const CLOCK_SKEW_SECONDS = 60;
/** Longest life of a mandate, in seconds: a year. */
const MANDATE_MAX_SECONDS = 366 * 86_400;

const toDate = (unixSeconds: number): Date => new Date(unixSeconds * 1_000);

/** The wallet that signed a mandate; undefined if no key can have made the signature. */
export async function signerOf(mandate: SignedMandate, signature: Hex): Promise<Address | undefined> {
  const message = {
    ...mandate,
    issuedAt: BigInt(mandate.issuedAt),
    notAfter: BigInt(mandate.notAfter),
    perDealUsd: toUsdUnits(mandate.perDealUsd),
    perDayUsd: toUsdUnits(mandate.perDayUsd),
    totalUsd: toUsdUnits(mandate.totalUsd),
  };
  try {
    return await recoverTypedDataAddress({ domain: DOMAIN, types: TYPES, primaryType: "Mandate", message, signature });
  } catch {
    return undefined;
  }
}

/** What is wrong with a mandate at this moment for a service under one of these hosts. */
export function faultsOf(mandate: SignedMandate, { hosts, now }: { hosts: readonly string[]; now: Date }) {
  const { host, issuedAt, notAfter } = mandate;
  const age = now.getTime() / 1_000 - issuedAt;
  const rules: [holds: boolean, field: keyof SignedMandate, fault: string][] = [
    [hosts.includes(host), "host", `Must be ${hosts[0] ?? ""}`],
    [
      age <= SIGN_IN_MAX_AGE_SECONDS && age >= -CLOCK_SKEW_SECONDS,
      "issuedAt",
      `Must be within the last ${SIGN_IN_MAX_AGE_SECONDS} seconds`,
    ],
    [toDate(notAfter) > now, "notAfter", "Must be in the future"],
    [
      notAfter <= issuedAt + MANDATE_MAX_SECONDS,
      "notAfter",
      `Must be at most ${MANDATE_MAX_SECONDS} seconds after issuedAt`,
    ],
  ];
  return rules
    .filter(([holds]) => !holds)
    .map(([, field, message]): ValidationIssue => ({ path: `body.mandate.${field}`, message }));
}

/** The record of a mandate's nonce: a mandate makes one key. Once it is deleted, the mandate is too old. */
export function nonceOf({ wallet, nonce, issuedAt }: SignedMandate): { _id: string; expiresAt: Date } {
  const expiresAt = toDate(issuedAt + SIGN_IN_MAX_AGE_SECONDS + CLOCK_SKEW_SECONDS);
  return { _id: `mandate:${wallet.toLowerCase()}:${nonce}`, expiresAt };
}

/** The terms as they are stored. */
export function termsOf(mandate: SignedMandate): MandateTerms {
  const { categories, networks, requireCriteria, scopes, onExceeded } = mandate;
  return {
    perDealUsd: String(toUsdUnits(mandate.perDealUsd)),
    perDayUsd: String(toUsdUnits(mandate.perDayUsd)),
    totalUsd: String(toUsdUnits(mandate.totalUsd)),
    categories,
    sellers: mandate.sellers.map((wallet) => wallet.toLowerCase() as Address),
    networks,
    requireCriteria,
    scopes,
    notAfter: toDate(mandate.notAfter),
    onExceeded,
  };
}
