import type { ApiMutant } from "./api-mutant.ts";

const CONFIRMATIONS = "features/chain-follower/confirmations.ts";
const NEWCOMERS = "features/chain-follower/late-registration.ts";
const CONFIRMATION_TESTS = ["chain-follower/confirmations.test.ts"];
const NEWCOMER_TESTS = ["chain-follower/newcomers.test.ts"];

/** Faults in what a follower waits for, and in what it gives wallets that register later. */
export const FOLLOWER_FAULTS: ApiMutant[] = [
  {
    fault: "a move is announced a confirmation early",
    file: CONFIRMATIONS,
    from: "const block = head.number - confirmations;",
    to: "const block = head.number - Math.max(0, confirmations - 1);",
    tests: CONFIRMATION_TESTS,
  },
  {
    fault: "an escrow leaves quarantine with a move that waits for confirmations",
    file: CONFIRMATIONS,
    from: "return escrow?.events.some(({ blockNumber }) => blockNumber > block) === true;",
    to: "return escrow?.events.every(({ blockNumber }) => blockNumber > block) === true;",
    tests: CONFIRMATION_TESTS,
  },
  {
    fault: "the time of a move that waits counts as applied",
    file: CONFIRMATIONS,
    from: "isReadable(first) ? first.timestamp : null",
    to: "isReadable(first) ? head.timestamp : null",
    tests: CONFIRMATION_TESTS,
  },
  {
    fault: "a funding that was withdrawn is sent all the same",
    file: "features/events/recorder.ts",
    from: "announcements.flatMap(({ withdrawn = [] }) => withdrawn),",
    to: "[],",
    tests: CONFIRMATION_TESTS,
  },
  {
    fault: "a newcomer gets a move that was withdrawn",
    file: NEWCOMERS,
    from: "return record === undefined || !move.live ? []",
    to: "return record === undefined ? []",
    tests: NEWCOMER_TESTS,
  },
  {
    fault: "a newcomer gets only the first batch of its moves",
    file: NEWCOMERS,
    from: "if (moves.length < ADOPTED_MOVES || last === undefined) {",
    to: "if (moves.length <= ADOPTED_MOVES || last === undefined) {",
    tests: NEWCOMER_TESTS,
  },
  {
    fault: "a newcomer is taken back to just behind an escrow's first move",
    file: NEWCOMERS,
    from: "Number(ordinal))) - 1;",
    to: "Number(ordinal)));",
    tests: NEWCOMER_TESTS,
  },
  {
    fault: "a newcomer takes the seller's side only in one spelling of its address",
    file: NEWCOMERS,
    from: "record.sellerAddress.toLowerCase() === wallet",
    to: "record.sellerAddress === wallet",
    tests: NEWCOMER_TESTS,
  },
];
