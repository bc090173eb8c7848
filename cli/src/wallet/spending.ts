import { randomBytes } from "node:crypto";

import { ToolRefusal } from "../../../tools/src/index.ts";
import type { Ledger } from "./ledger.ts";
import { dayOf } from "./ledger-entries.ts";
import type { Asked, Entry, LedgerState, Spend } from "./ledger-entries.ts";
import type { Limits } from "./limits.ts";
import { isSame } from "./pins.ts";
import { parseUsd, usdText } from "./usd.ts";

/** How long a person has to approve a deal. Its quote ends after the same time. */
const APPROVAL_MS = 900_000;
const ID_BYTES = 5;

/** A deal that the wallet is asked to pay for. */
export interface Purchase {
  /** The entry to write, without the approval. */
  spend: Omit<Spend, "kind" | "approval">;
  category: string;
  hasCriteria: boolean;
}

/**
 * Holds a purchase against the limits and writes it down, before anything is signed. A purchase that stands there already
 * isn't counted again.
 * @throws ToolRefusal `limit_exceeded`, `confirmation_required`, `intent_conflict`, `other_terms`
 */
export async function writeSpend(ledger: Ledger, limits: Limits, purchase: Purchase): Promise<void> {
  const { dealId, escrowId, usd } = purchase.spend;
  let asked: Asked | undefined;
  const state = await ledger.write((before, now) => {
    const decided = decide(before, now, limits, purchase);
    asked = decided?.kind === "asked" ? decided : undefined;
    return decided;
  });
  if (asked === undefined && state.spendOf(dealId) !== undefined) return;
  throw confirmationRequired(asked?.id ?? "", { dealId, escrowId, usd });
}

/** What would be written for a purchase. @throws ToolRefusal as `writeSpend`, except that it asks nobody */
export async function checkSpend(
  ledger: Ledger,
  limits: Limits,
  purchase: Purchase,
  now: Date,
): Promise<Entry["kind"]> {
  return decide(await ledger.read(), now, limits, purchase)?.kind ?? "spend";
}

/**
 * Counts a call that is paid for by x402, before its payment is signed.
 * @throws ToolRefusal `limit_exceeded`
 */
export async function writePayment(
  ledger: Ledger,
  limits: Limits,
  { nonce, network, usd }: { nonce: string; network: string; usd: bigint },
): Promise<void> {
  await ledger.write((state, now) => {
    requireNetwork(limits, network);
    requireAmounts(state, now, limits, usd, "The call");
    return { kind: "payment", nonce, network, usd: String(usd) };
  });
}

function decide(state: LedgerState, now: Date, limits: Limits, purchase: Purchase): Entry | undefined {
  const { spend } = purchase;
  const usd = BigInt(spend.usd);
  requireKind(limits, purchase);
  const written = state.spendOf(spend.dealId);
  if (written !== undefined) {
    requireSame(written, spend);
    return undefined;
  }
  const others = state.spendsWith(
    ({ intentId, escrowId }) => intentId === spend.intentId || escrowId === spend.escrowId,
  );
  const [other] = others;
  if (other !== undefined) throw otherDeal(other, spend.dealId);
  requireAmounts(state, now, limits, usd, "The deal");
  const entry = { kind: "spend", ...spend } as const;
  const confirmAbove = limits.confirmAboveUsd === null ? undefined : parseUsd(limits.confirmAboveUsd);
  if (confirmAbove === undefined || usd <= confirmAbove) return { ...entry, approval: null };
  const open = state.openRequest(spend, now);
  if (open !== undefined) {
    if (state.isApproved(open.id)) return { ...entry, approval: open.id };
    throw confirmationRequired(open.id, spend);
  }
  return {
    kind: "asked",
    id: randomBytes(ID_BYTES).toString("hex"),
    dealId: spend.dealId,
    escrowId: spend.escrowId,
    usd: spend.usd,
    summary: `${usdText(usd)} to the seller ${spend.seller} on ${spend.network}, for the deal ${spend.dealId}`,
    expiresAt: new Date(now.getTime() + APPROVAL_MS).toISOString(),
  };
}

/** What a limit of amounts leaves, and when it leaves more. */
function requireAmounts(state: LedgerState, now: Date, limits: Limits, usd: bigint, what: string): void {
  const tomorrow = new Date(Date.parse(dayOf(now)) + 86_400_000).toISOString();
  const bounds = [
    { name: "perDealUsd", limit: limits.perDealUsd, used: 0n, when: "it never changes by itself" },
    { name: "perDayUsd", limit: limits.perDayUsd, used: state.onDay(dayOf(now)), when: `it is renewed at ${tomorrow}` },
    { name: "totalUsd", limit: limits.totalUsd, used: state.totalUsd, when: "it is never renewed" },
  ];
  for (const { name, limit, used, when } of bounds) {
    const most = parseUsd(limit) ?? 0n;
    if (used + usd <= most) continue;
    const left = most > used ? most - used : 0n;
    const costs = `${what} costs ${usdText(usd)}; ${usdText(left)} of ${usdText(most)} remain`;
    throw exceeded(name, `${costs}, and ${when}`);
  }
}

/** What the limits allow to be bought at all. */
function requireKind(limits: Limits, { spend, category, hasCriteria }: Purchase): void {
  requireNetwork(limits, spend.network);
  const { categories, sellers, requireCriteria } = limits;
  if (categories.length > 0 && !categories.includes(category)) {
    throw exceeded("categories", `the category of the service isn't one of ${categories.join(", ")}`);
  }
  if (sellers.length > 0 && !sellers.some((seller) => isSame(seller, spend.seller))) {
    throw exceeded("sellers", `${spend.seller} isn't one of them`);
  }
  if (requireCriteria && !hasCriteria) {
    throw exceeded("requireCriteria", "the order has no criteria, and without them nobody can rule on the result");
  }
}

function requireNetwork({ networks }: Limits, network: string): void {
  if (networks.length === 0 || networks.some((allowed) => allowed === network)) return;
  throw exceeded("networks", `${network} isn't one of ${networks.join(", ")}`);
}

function requireSame(written: Spend, spend: Purchase["spend"]): void {
  for (const field of ["escrowId", "network", "seller", "token", "amount"] as const) {
    if (isSame(written[field], spend[field])) continue;
    throw new ToolRefusal({
      code: "other_terms",
      message: `The deal's ${field} is ${spend[field]}, and the wallet's ledger has ${written[field]}. Nothing was signed.`,
      whatToDo: "Don't pay this deal, and tell the operator of the marketplace.",
      dealId: spend.dealId,
    });
  }
}

function otherDeal({ dealId, intentId }: Spend, asked: string): ToolRefusal {
  return new ToolRefusal({
    code: "intent_conflict",
    message: `The wallet has paid, or may have paid, the deal ${dealId} under the intent ${intentId}, and pays no other one.`,
    whatToDo: `Read the deal ${dealId}. Use a new intentId only for a different purchase than ${asked}.`,
    dealId,
  });
}

function exceeded(limit: string, why: string): ToolRefusal {
  return new ToolRefusal({
    code: "limit_exceeded",
    message: `The wallet's limit ${limit} refuses this: ${why}. Nothing was signed.`,
    whatToDo:
      "Stay within the limit. Only the wallet's owner can change it, on a terminal: agent-marketplace limits set",
  });
}

function confirmationRequired(id: string, { dealId, usd }: Pick<Asked, "dealId" | "escrowId" | "usd">): ToolRefusal {
  return new ToolRefusal({
    code: "confirmation_required",
    message: `The deal costs ${usdText(BigInt(usd))}, which the wallet's owner has to approve. Nothing was signed.`,
    whatToDo: `The owner runs on a terminal: agent-marketplace approve ${id}. Then repeat the call with the same arguments.`,
    dealId,
  });
}
