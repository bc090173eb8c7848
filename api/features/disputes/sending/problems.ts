import { SENDING_PROBLEMS } from "../../../chain/sending/problems.ts";
import type { Obstacle } from "../../../chain/sending/problems.ts";
import type { Revert } from "../../../chain/sending-chain.ts";

/** Reasons why a ruling can't be put on chain. docs/operating/sending.md says what an operator does about each. */
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
  ...SENDING_PROBLEMS,
] as const;
export type Problem = (typeof PROBLEMS)[number];

/** Codes of escrow states. */
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
export function toObstacle(revert: Revert): Obstacle<Problem> {
  const { name, args } = revert;
  if (name === "EscrowNotInState" && Number(args[1]) === RESOLVED_STATE) return { kind: "done" };
  const detail = `${name}(${args.map(String).join(", ")})`;
  return { kind: "problem", problem: PROBLEM_OF_ERROR[name] ?? "unexpected", detail };
}

/** The obstacle to a ruling in an escrow's state; undefined for Disputed. */
export function stateObstacle(state: number): Obstacle<Problem> | undefined {
  if (state === DISPUTED_STATE) return undefined;
  if (state === RESOLVED_STATE) return { kind: "done" };
  return { kind: "problem", problem: "not_disputed", detail: `the escrow is in state ${state}` };
}
