import type { Approval, Dispute, Transaction } from "../../../sdk/src/generated/api-types.ts";
import { KEYS_ADDRESS, ownDealAddress } from "../data/owner-place.ts";
import { usd } from "../words/amounts.ts";

/** Something that waits for the agent or its owner. */
export interface Need {
  /** Unique on the page. */
  key: string;
  /** What to do, in our own words. */
  todo: string;
  /** The service or the purchase that it is about: a stranger's text; null if it has none. */
  about: string | null;
  /** What follows if nothing is done. */
  otherwise: string;
  /** Last moment for it: ISO 8601; null if it stays open. */
  until: string | null;
  /** The page about it. */
  page: string | null;
  /** A line of the command line that does it, or shows more. */
  command: string | null;
}

/** What an agent's records say. */
export interface Records {
  deals: readonly Transaction[];
  approvals: readonly Approval[];
  disputes: readonly Dispute[];
}

const MS = 1_000;

/**
 * What needs an agent now, the most urgent first. What is open without an end comes last.
 * @param wallet the agent's address
 * @param now milliseconds, by the clock of the deals' chain
 */
export function needsOf({ deals, approvals, disputes }: Records, wallet: string, now: number): readonly Need[] {
  const all = [
    ...deals.flatMap((deal) => dealNeed(deal, disputes, isSame(deal.sellerAddress, wallet), now) ?? []),
    ...approvals.flatMap((approval) => approvalNeed(approval, now) ?? []),
  ];
  return all.toSorted((left, right) => endOf(left) - endOf(right));
}

/** Whether two texts are the same address. */
export function isSame(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}

function endOf({ until }: Need): number {
  return until === null ? Number.POSITIVE_INFINITY : Date.parse(until);
}

function dealNeed(deal: Transaction, disputes: readonly Dispute[], isSeller: boolean, now: number): Need | undefined {
  const id = deal.transactionId;
  const facts = { key: id, about: deal.serviceTitle, page: ownDealAddress(id) };
  const isLeft = (until: string | null) => until === null || Date.parse(until) >= now;
  /** A need, unless its time is over. */
  const need = (todo: string, otherwise: string, until: string | null, verb: string | null = null): Need | undefined =>
    isLeft(until)
      ? { ...facts, todo, otherwise, until, command: verb === null ? null : `agent-marketplace ${verb}` }
      : undefined;
  const { deadline, abandonmentGrace, deadlineAt } = deal;
  const graceEnd = new Date((deadline + abandonmentGrace) * MS).toISOString();
  switch (deal.status) {
    case "pending_funding": {
      if (isSeller) return undefined;
      const text = "Otherwise the offer ends, and nothing is owed.";
      return need("Pay the deposit", text, deal.quoteExpiresAt, `deal ${id}`);
    }
    case "funded":
      if (!isSeller) {
        return isLeft(graceEnd)
          ? undefined
          : need(
              "Take the deposit back",
              "Nothing was delivered. Until you do, it stays in escrow.",
              null,
              `reclaim ${id}`,
            );
      }
      if (!isLeft(deadlineAt)) {
        return need(
          "Decline",
          "You are late. If you don't, the buyer may take the deposit back, and your score falls.",
          graceEnd,
          `decline ${id}`,
        );
      }
      return deal.responsePayload === null
        ? need(
            "Deliver",
            "Otherwise the buyer gets the deposit back, and your score falls.",
            deadlineAt,
            `deliver ${id} --input result.json`,
          )
        : need(
            "Put the delivery on chain",
            "The result is stored. Only the chain makes it count.",
            deadlineAt,
            `deal ${id}`,
          );
    case "delivered": {
      const window = windowEnd(deal);
      if (isSeller) {
        return isLeft(window)
          ? undefined
          : need(
              "Collect the payment",
              "The buyer's time to dispute is over. Anyone may release the deposit to you.",
              null,
              `deal ${id}`,
            );
      }
      return need("Review: accept or dispute", "Otherwise the seller is paid.", window, `review ${id}`);
    }
    case "disputed":
      return disputeNeed(deal, disputes, isSeller, need);
    default:
      return undefined;
  }
}

function disputeNeed(
  { disputeId, transactionId }: Transaction,
  disputes: readonly Dispute[],
  isSeller: boolean,
  need: (todo: string, otherwise: string, until: string | null, verb: string) => Need | undefined,
): Need | undefined {
  const dispute = disputes.find((one) => one.disputeId === disputeId);
  const verb = `deal ${transactionId}`;
  // While it can't be read, the owner should look.
  if (dispute === undefined) return need("Look at the dispute", "A deposit is disputed.", null, verb);
  const isDone = isSeller ? dispute.complete.seller : dispute.complete.buyer;
  if (dispute.status !== "open" || isDone) return undefined;
  const text = "Otherwise it is decided by what is known.";
  if (!isSeller && dispute.reason === null) return need("Say what is wrong", text, dispute.evidenceDeadline, verb);
  return need("Answer the dispute", text, dispute.evidenceDeadline, verb);
}

function approvalNeed({ id, status, serviceTitle, askedUsd, expiresAt }: Approval, now: number): Need | undefined {
  if (status !== "open" || Date.parse(expiresAt) < now) return undefined;
  return {
    key: id,
    todo: `Approve a purchase of ${usd(askedUsd).shown}`,
    about: serviceTitle,
    otherwise: "A key of yours asks for it. Otherwise nothing is bought.",
    until: expiresAt,
    page: KEYS_ADDRESS,
    command: "agent-marketplace approvals",
  };
}

/** Last moment for the buyer to accept or dispute; null before the delivery is on chain. */
export function windowEnd({ timeline, disputeWindow, deliveredAt }: Transaction): string | null {
  const delivered = timeline.find(({ event }) => event === "DeliverySubmitted")?.at ?? deliveredAt;
  return delivered === null ? null : new Date(Date.parse(delivered) + disputeWindow * MS).toISOString();
}

/** Money of one token, in its smallest units. */
export interface Money {
  symbol: string;
  /** The agent's own deposits, with what isn't refunded left out. */
  deposited: bigint;
  /** What it gets for deliveries that nobody disputes. */
  expected: bigint;
  earned: bigint;
  spent: bigint;
}

const OPEN = ["funded", "delivered", "disputed"];
const ENDED = ["released", "resolved", "abandoned", "refunded"];

/** An agent's money in deals, by token. */
export function moneyOf(deals: readonly Transaction[], wallet: string): readonly Money[] {
  const sums = new Map<string, Money>();
  for (const deal of deals) {
    const { currency: symbol, status, lockedAmount, amount } = deal;
    const sum = sums.get(symbol) ?? { symbol, deposited: 0n, expected: 0n, earned: 0n, spent: 0n };
    sums.set(symbol, sum);
    const isSeller = isSame(deal.sellerAddress, wallet);
    if (OPEN.includes(status)) sum[isSeller ? "expected" : "deposited"] += BigInt(lockedAmount);
    if (!ENDED.includes(status)) continue;
    if (isSeller) sum.earned += BigInt(deal.sellerAmount ?? "0");
    // What came back wasn't spent.
    else sum.spent += BigInt(amount) - BigInt(deal.buyerAmount ?? "0");
  }
  return [...sums.values()].toSorted((left, right) => left.symbol.localeCompare(right.symbol));
}
