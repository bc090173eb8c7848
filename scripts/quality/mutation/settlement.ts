import type { Mutant } from "./mutant.ts";

const SETTLEMENT = "escrow/EscrowSettlement.sol";
const STORAGE = "escrow/EscrowStorage.sol";
const VIEWS = "escrow/EscrowViews.sol";
const RECORD = "types/StoredEscrow.sol";

/** Faults in payouts, credits and repeated scores, in the record and in what is read from it. */
export const SETTLEMENT_FAULTS: Mutant[] = [
  {
    fault: "a credit can be drawn twice",
    file: SETTLEMENT,
    from: "        credits[token] = 0;\n",
    to: "",
  },
  {
    fault: "a payout that failed is lost",
    file: SETTLEMENT,
    from: "_data().credits[recipient][token] += amount;",
    to: "",
  },
  {
    fault: "a second credit replaces the first",
    file: SETTLEMENT,
    from: "_data().credits[recipient][token] += amount;",
    to: "_data().credits[recipient][token] = amount;",
  },
  {
    fault: "a score can be repeated for ever",
    file: SETTLEMENT,
    from: "        $.pendingScores[escrowId] = 0;\n",
    to: "",
  },
  {
    fault: "a repeated score is the next outcome",
    file: SETTLEMENT,
    from: "ScoreOutcome outcome = ScoreOutcome(pending - 1);",
    to: "ScoreOutcome outcome = ScoreOutcome(pending);",
  },
  {
    fault: "a failed score is forgotten",
    file: SETTLEMENT,
    from: "$.pendingScores[escrowId] = uint256(outcome) + 1;",
    to: "",
  },
  {
    fault: "a release pays the gross deposit",
    file: SETTLEMENT,
    from: "uint256 locked = FeeMath.lockedOf(_amountOf(stored, terms));",
    to: "uint256 locked = _amountOf(stored, terms);",
  },
  {
    fault: "the window counts from the creation",
    file: STORAGE,
    from: "return progress.deliveredAtOf() + terms.disputeWindowOf();",
    to: "return progress.createdAtOf() + terms.disputeWindowOf();",
  },
  {
    fault: "the grace is forgotten",
    file: STORAGE,
    from: "return progress.deadlineOf() + terms.abandonmentGraceOf();",
    to: "return progress.deadlineOf();",
  },
  {
    fault: "nextActions opens the reclaim one second early",
    file: VIEWS,
    from: "terms.buyerOf(), graceEnd + 1, NEVER_CLOSES",
    to: "terms.buyerOf(), graceEnd, NEVER_CLOSES",
  },
  {
    fault: "the dispute's time overwrites the delivery's",
    file: RECORD,
    from: "| (disputedAfter << 239)",
    to: "| (disputedAfter << 217)",
  },
  {
    fault: "long windows lose their highest bit",
    file: RECORD,
    from: "uint256 constant WINDOW_MASK = 2 ** 17 - 1;",
    to: "uint256 constant WINDOW_MASK = 2 ** 16 - 1;",
  },
];
