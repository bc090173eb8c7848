/** The problems that can block any transaction. */
export const SENDING_PROBLEMS = [
  /** This service has no key for it on the network, or not the one that signed before. */
  "no_key",
  /** The wallet can't pay for gas. */
  "no_ether",
  /** A transaction was mined and reverted. */
  "reverted",
  /** Another transaction has used the nonce. */
  "nonce_taken",
  /** An earlier nonce of the wallet is unused, and no transaction in flight has it. */
  "nonce_gap",
  /** The node doesn't have the transaction, however often it was sent. */
  "not_in_pool",
  /** The market's fees exceed what the sender may offer. */
  "fee_cap",
  /** A revert or an answer that the sender doesn't know. */
  "unexpected",
] as const;
export type SendingProblem = (typeof SENDING_PROBLEMS)[number];

/** Why a call can't go on chain now. `P` are the problems that its senders know. */
export type Obstacle<P extends string = string> =
  | { kind: "problem"; problem: P; detail: string }
  /** The chain has what the call is for. */
  | { kind: "done" };

/** Matches nodes' answers if they already have the transaction. It counts as sent. */
const KNOWN = /\balready ?known|already imported|\bknown transaction/i;
/** Matches nodes' answers if another transaction has the nonce, mined or pending. */
const NONCE_TAKEN = /nonce too low|replacement transaction underpriced/i;
/** Matches other refusals that the next look at the chain explains. Nodes word them differently. */
const EXPECTED_REFUSALS = /underpriced|below base fee|less than block base fee/i;

/** The meaning of a node's refusal of a signed transaction. */
export type RefusalMeaning = "known" | "nonce_taken" | "expected" | "other";

/** Reads a node's refusal of a signed transaction. */
export function meaningOf(reason: string): RefusalMeaning {
  if (KNOWN.test(reason)) return "known";
  if (NONCE_TAKEN.test(reason)) return "nonce_taken";
  return EXPECTED_REFUSALS.test(reason) ? "expected" : "other";
}

/** Classifies a node's refusal of a signed transaction; undefined if only the chain can tell what it means. */
export function refusalProblem(reason: string): SendingProblem | undefined {
  if (/insufficient funds/i.test(reason)) return "no_ether";
  return meaningOf(reason) === "other" ? "unexpected" : undefined;
}
