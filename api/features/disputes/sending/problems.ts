import type { Revert } from "../../../chain/sending-chain.ts";

/** What can be in the way of a ruling. docs/ruling-transactions.md says what an operator does about each. */
export const PROBLEMS = [
  /** The resolver contract suspends rulings. */
  "rulings_paused",
  /** The key never held the role, or was revoked. */
  "not_resolver",
  /** The key didn't hold the role when the escrow was created. */
  "outside_tenure",
  /** The key's wallet is a party of the escrow. */
  "resolver_is_party",
  /** The chain shows no open dispute: a reorganisation removed it. */
  "not_disputed",
  /** The contract rejects the ruling itself. */
  "invalid_ruling",
  /** This service has no key for the role on the network, or not the one that signed before. */
  "no_key",
  /** The wallet can't pay for gas. */
  "no_ether",
  /** A transaction of the ruling was mined and reverted. */
  "reverted",
  /** Another transaction has used the nonce of the ruling's transaction. */
  "nonce_taken",
  /** An earlier nonce of the wallet is unused, and no ruling has it. */
  "nonce_gap",
  /** The market's fees exceed what the sender may offer. */
  "fee_cap",
  /** A revert or an answer that the sender doesn't know. */
  "unexpected",
] as const;
export type Problem = (typeof PROBLEMS)[number];

/** Why a ruling can't be put on chain now. */
export type Obstacle =
  | { kind: "problem"; problem: Problem; detail: string }
  /** The dispute is resolved already. */
  | { kind: "resolved" };

/** Codes of escrow states (specification 3.1). */
const DISPUTED_STATE = 5;
const RESOLVED_STATE = 6;

const PROBLEM_OF_ERROR: Readonly<Record<string, Problem>> = {
  RulingsArePaused: "rulings_paused",
  CallerNotResolver: "not_resolver",
  EscrowOutsideTenure: "outside_tenure",
  ResolverIsParty: "resolver_is_party",
  EscrowNotFound: "not_disputed",
  EscrowNotInState: "not_disputed",
  InvalidPercentages: "invalid_ruling",
  MissingRationale: "invalid_ruling",
};

/** Classifies a failed simulation of a ruling by the contract's custom error. */
export function obstacleOf(revert: Revert): Obstacle {
  const { name, args } = revert;
  if (name === "EscrowNotInState" && Number(args[1]) === RESOLVED_STATE) return { kind: "resolved" };
  const detail = `${name}(${args.map(String).join(", ")})`;
  return { kind: "problem", problem: PROBLEM_OF_ERROR[name] ?? "unexpected", detail };
}

/** What an escrow's state says about ruling it; undefined for Disputed. */
export function stateObstacle(state: number): Obstacle | undefined {
  if (state === DISPUTED_STATE) return undefined;
  if (state === RESOLVED_STATE) return { kind: "resolved" };
  return { kind: "problem", problem: "not_disputed", detail: `the escrow is in state ${state}` };
}

/** Answers that the chain explains at the next look. Nodes word them differently. */
const EXPECTED_REFUSALS =
  /already known|already imported|known transaction|nonce too low|underpriced|below base fee|less than block base fee/i;

/** Classifies a node's refusal of a signed transaction; undefined if only the chain can tell what it means. */
export function refusalProblem(reason: string): Problem | undefined {
  if (/insufficient funds/i.test(reason)) return "no_ether";
  return EXPECTED_REFUSALS.test(reason) ? undefined : "unexpected";
}
