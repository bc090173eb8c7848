import { PLATFORM_FEE_BPS } from "../../config/constants.ts";
import type { PaidSettlement } from "../../indexer/schemas.ts";
import { canonicalJson } from "../../lib/canonical-json.ts";
import { sha256Hex } from "../../lib/ids.ts";
import { isoTime } from "../../lib/clock.ts";
import type { SettlementLine, StatementTerms } from "./model.ts";
import type { Month } from "./months.ts";

/** The part of an amount that the seller was paid for, rounded down. */
function paidShareOf(amount: bigint, { sellerAmount, locked }: PaidSettlement): bigint {
  return (amount * sellerAmount) / locked;
}

/** The rebate on the sum of a month's fees in one token, in token units. It is never above the fees. */
export function rebateOn(fees: bigint, rateBps: number): bigint {
  return (fees * BigInt(PLATFORM_FEE_BPS - rateBps)) / BigInt(PLATFORM_FEE_BPS);
}

/** The volume of settlements that counts towards the tier at a month's end, in USD units. */
export function volumeIn(month: Month, settlements: readonly PaidSettlement[]): bigint {
  return settlements
    .filter(({ settledAt }) => settledAt >= month.windowStart && settledAt < month.end)
    .reduce((sum, settlement) => sum + paidShareOf(settlement.valueUsd, settlement), 0n);
}

/** A settlement as the statement of a month lists it. */
export function toLine(settlement: PaidSettlement, month: Month): SettlementLine {
  const isOfMonth = settlement.settledAt >= month.start && settlement.settledAt < month.end;
  return {
    escrowId: settlement.id,
    settledAt: isoTime(settlement.settledAt),
    amount: String(settlement.amount),
    fee: String(settlement.fee),
    locked: String(settlement.locked),
    sellerAmount: String(settlement.sellerAmount),
    valueUsdUnits: String(settlement.valueUsd),
    volumeUsdUnits: String(volumeIn(month, [settlement])),
    countedFee: String(isOfMonth ? paidShareOf(settlement.fee, settlement) : 0n),
  };
}

/** SHA-256 of the canonical JSON of each settlement, each followed by a line break, in their order. */
export function hashSettlements(lines: readonly SettlementLine[]): `0x${string}` {
  return `0x${sha256Hex(lines.map((line) => `${canonicalJson(line)}\n`).join(""))}`;
}

/** SHA-256 of the canonical JSON of the terms. */
export function hashStatement(terms: StatementTerms): `0x${string}` {
  return `0x${sha256Hex(canonicalJson(terms))}`;
}

/** The start and end of a month's window, as statements show them. */
export function windowOf({ windowStart, end }: Month): Pick<StatementTerms, "windowStart" | "windowEnd"> {
  return { windowStart: isoTime(windowStart), windowEnd: isoTime(end) };
}
