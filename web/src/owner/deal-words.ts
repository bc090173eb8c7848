import type { EscrowMove, EscrowState } from "../../../sdk/src/calls.ts";
import type { Transaction, TransactionWithActions } from "../../../sdk/src/generated/api-types.ts";
import type { Answer } from "../data/answers.ts";
import { count, token } from "../words/amounts.ts";
import { DEAL_STATES } from "../words/states.ts";
import type { StateWords } from "../words/states.ts";
import { codeOf } from "./api.ts";
import { isSame, windowEnd } from "./needs.ts";

/** States of deals that no chain knows. */
const OFF_CHAIN: Readonly<Record<string, StateWords>> = {
  pending_funding: {
    name: "Not paid yet",
    meaning: "The buyer has checked out and may pay the deposit.",
    tone: "care",
  },
  expired: { name: "Expired", meaning: "The buyer didn't pay in time. Nothing is owed.", tone: "plain" },
};

/** A deal's state in words. */
export function stateWords(status: string): StateWords | undefined {
  return DEAL_STATES[status] ?? OFF_CHAIN[status];
}

/** Whether a chain knows deals of this state. */
export function isOnChain(status: string): boolean {
  return !(status in OFF_CHAIN);
}

/** An amount of a token, in its units if nobody has said how many decimals it has. */
export function knownToken(units: string | bigint, symbol: string, decimals: ReadonlyMap<string, number>): string {
  const known = decimals.get(symbol);
  return known === undefined ? `${units.toString()} units of ${symbol}` : token(units.toString(), known, symbol);
}

/** What happens next with a deal. */
export interface NextStep {
  text: string;
  /** Until when: ISO 8601; null if it stays open. */
  until: string | null;
}

const MS = 1_000;
/** A dispute without a ruling can be ended after 30 days. */
const RULING_MS = 30 * 24 * 60 * 60 * MS;

/**
 * What happens next with a deal; null once it has ended.
 * @param wallet the agent's address
 * @param now milliseconds, by the clock of the deal's chain
 */
export function nextStep(deal: Transaction, wallet: string, now: number): NextStep | null {
  const isSeller = isSame(deal.sellerAddress, wallet);
  const { deadline, deadlineAt, abandonmentGrace, quoteExpiresAt } = deal;
  const isLeft = (until: string | null): until is string => until !== null && Date.parse(until) >= now;
  switch (deal.status) {
    case "pending_funding":
      return isLeft(quoteExpiresAt)
        ? { text: "You pay the deposit", until: quoteExpiresAt }
        : { text: "The offer is over, and nothing is owed", until: null };
    case "funded": {
      const graceEnd = new Date((deadline + abandonmentGrace) * MS).toISOString();
      if (isLeft(deadlineAt)) {
        return { text: isSeller ? "You deliver" : "The seller delivers", until: deadlineAt };
      }
      if (isLeft(graceEnd)) {
        const text = isSeller ? "You are late, and may still decline" : "The seller is late, and may still decline";
        return { text, until: graceEnd };
      }
      const text = isSeller ? "The buyer may take the deposit back" : "You may take the deposit back";
      return { text, until: null };
    }
    case "delivered": {
      const window = windowEnd(deal);
      return isLeft(window)
        ? { text: isSeller ? "The buyer accepts or disputes" : "You accept or dispute", until: window }
        : { text: `Anyone may release the deposit to ${isSeller ? "you" : "the seller"}`, until: null };
    }
    case "disputed": {
      const opened = deal.timeline.find(({ event }) => event === "DisputeOpened")?.at;
      const until = opened === undefined ? null : new Date(Date.parse(opened) + RULING_MS).toISOString();
      return opened === undefined || isLeft(until)
        ? { text: "A ruling or an agreement divides the deposit", until }
        : { text: "Anyone may end the dispute: each gets half", until: null };
    }
    default:
      return null;
  }
}

/** A move that a page has a button for. */
export interface MoveWords {
  /** What its button says. */
  name: string;
  /** Whose move it is. */
  by: "buyer" | "seller" | "anyone";
  /** The state that the escrow must have on chain. */
  from: EscrowState;
  /** What it does with the money. @param locked what is in escrow without the fee @param fee never refunded */
  effect: (locked: string, fee: string) => string;
}

/** The moves with a button. Each takes the escrow's id and nothing else. */
export const MOVES: Readonly<Record<EscrowMove, MoveWords>> = {
  accept: {
    name: "Accept the delivery",
    by: "buyer",
    from: "Delivered",
    effect: (locked) => `Pays ${locked} out of escrow to the seller. It can't be undone.`,
  },
  openDispute: {
    name: "Dispute the delivery",
    by: "buyer",
    from: "Delivered",
    effect: (locked) => `Keeps ${locked} in escrow until a ruling or an agreement divides it. No money moves now.`,
  },
  claimAbandoned: {
    name: "Take the deposit back",
    by: "buyer",
    from: "Funded",
    effect: (locked, fee) => `Pays ${locked} out of escrow back to you. The fee of ${fee} isn't refunded.`,
  },
  refund: {
    name: "Decline the job",
    by: "seller",
    from: "Funded",
    effect: (locked) => `Pays ${locked} out of escrow back to the buyer. You get nothing for this deal.`,
  },
  finalize: {
    name: "Release the payment",
    by: "anyone",
    from: "Delivered",
    effect: (locked) => `Pays ${locked} out of escrow to the seller, since the buyer's time to dispute is over.`,
  },
  resolveExpired: {
    name: "End the dispute",
    by: "anyone",
    from: "Disputed",
    effect: (locked) => `Pays half of ${locked} to each party, since nobody has ruled for 30 days.`,
  },
};

/** What the buyer does first, with one or two transactions. Their arguments are the deal's terms. */
export const FUNDING = {
  name: "Pay the deposit",
  /** @param amount the deposit @param fee the part of it that is never refunded */
  effect: (amount: string, fee: string): string =>
    `Moves ${amount} from your wallet into escrow. ${fee} of that is the fee, which isn't refunded. You decide about the rest once the ` +
    "seller has delivered, and can take it back if nothing is delivered.",
} as const;

const FUNDING_REFUSALS: Readonly<Record<string, string>> = {
  funding_failed: "the contract refused it",
  funding_other_network: "it is on another network",
  funding_other_escrow: "it is another escrow's",
  funding_other_terms: "the escrow has other terms",
  funding_was_a_transfer: "it was a plain transfer",
};

/** Why the service doesn't take a transaction for the deposit of the deal. */
export function fundingRefusal(block: number, answer: Answer): string {
  const code = codeOf(answer);
  const why = FUNDING_REFUSALS[code] ?? (code === "" ? `status ${answer.status}` : code);
  return `Block ${count(block)} has it, and the service doesn't take it for this deal's deposit: ${why}. Tell the operator.`;
}

/** Whether a page has a button for an action of the API. */
export function isMove(action: string): action is EscrowMove {
  return Object.hasOwn(MOVES, action);
}

/** Something to do with the command line. */
export interface Command {
  todo: string;
  command: string;
}

/**
 * What the page doesn't do: to pay, to deliver, and for a session that only sees, to say something in a dispute.
 * @param acts whether the session may say it on the page
 */
export function commandsFor(
  { transactionId, status, actions }: TransactionWithActions,
  isSeller: boolean,
  acts: boolean,
): Command[] {
  const line = (todo: string, rest: string): Command => ({ todo, command: `agent-marketplace ${rest}` });
  const can = (...names: string[]) => actions.some(({ action }) => names.includes(action));
  return [
    ...(can("createEscrow") ? [line("Pay the deposit", `deal ${transactionId}`)] : []),
    ...(can("deliver", "submitDelivery") ? [line("Deliver", `deliver ${transactionId} --input result.json`)] : []),
    ...(status === "disputed" && !acts && !isSeller
      ? [line("Say what is wrong", `dispute ${transactionId} --reason "What is wrong"`)]
      : []),
    ...(status === "disputed" && !acts
      ? [line("Offer half to each", `agree ${transactionId} --buyer-percent 50`)]
      : []),
  ];
}
