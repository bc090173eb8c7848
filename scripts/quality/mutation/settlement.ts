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
    from: "_data().pendingScores[escrowId] = uint256(outcome) + 1;",
    to: "",
  },
  {
    fault: "a release pays the gross deposit",
    file: SETTLEMENT,
    from: "uint256 locked = FeeMath.lockedOf(_amountOf(stored, deposit));\n\n        // Effect:\n        stored.progress = progress.withState(EscrowState.Released);",
    to: "uint256 locked = _amountOf(stored, deposit);\n\n        // Effect:\n        stored.progress = progress.withState(EscrowState.Released);",
  },
  {
    fault: "the window counts from the creation",
    file: STORAGE,
    from: "return progress.deliveredAtOf() + deposit.disputeWindowOf();",
    to: "return progress.createdAtOf() + deposit.disputeWindowOf();",
  },
  {
    fault: "the grace is forgotten",
    file: STORAGE,
    from: "return progress.deadlineOf() + deposit.abandonmentGraceOf();",
    to: "return progress.deadlineOf();",
  },
  {
    fault: "nextActions opens the reclaim one second early",
    file: VIEWS,
    from: "deposit.buyerOf(), graceEnd + 1, NEVER_CLOSES",
    to: "deposit.buyerOf(), graceEnd, NEVER_CLOSES",
  },
  {
    fault: "the dispute's time overwrites the delivery's",
    file: RECORD,
    from: "writeField(word, DISPUTED_AFTER_SHIFT, MAX_DISPUTE_WINDOW, seconds_)",
    to: "writeField(word, DELIVERED_AFTER_SHIFT, MAX_DISPUTE_WINDOW, seconds_)",
  },
  {
    fault: "long windows lose their highest bit",
    file: RECORD,
    from: "uint256 constant MAX_DISPUTE_WINDOW = 2 ** 17 - 1;",
    to: "uint256 constant MAX_DISPUTE_WINDOW = 2 ** 16 - 1;",
  },
  {
    fault: "a value that does not fit its field spills into the next one",
    file: RECORD,
    from: "    if (value > maximum) revert FieldOverflow(value, maximum);\n",
    to: "",
  },
  {
    fault: "a new state is added to the old one",
    file: RECORD,
    from: "uint256 word = PackedProgress.unwrap(progress) & ~(MAX_STATE << STATE_SHIFT);",
    to: "uint256 word = PackedProgress.unwrap(progress);",
  },
  {
    fault: "the deadline counts from the delivery",
    file: RECORD,
    from: "readField(PackedProgress.unwrap(progress), DELIVERY_SECONDS_SHIFT, MAX_DELIVERY_SECONDS)",
    to: "readField(PackedProgress.unwrap(progress), DELIVERED_AFTER_SHIFT, MAX_DELIVERY_SECONDS)",
  },
  {
    fault: "token indexes lose their highest bit",
    file: RECORD,
    from: "uint256 constant MAX_TOKEN_INDEX = 2 ** 5 - 1;",
    to: "uint256 constant MAX_TOKEN_INDEX = 2 ** 4 - 1;",
  },
  {
    fault: "amounts of 52 bits lose their highest bit",
    file: RECORD,
    from: "uint256 constant MAX_INLINE_AMOUNT = 2 ** 52 - 1;",
    to: "uint256 constant MAX_INLINE_AMOUNT = 2 ** 53 - 1;",
  },
  {
    fault: "the main token's escrows are paid in the second token",
    file: STORAGE,
    from: "uint256 internal constant MAIN_TOKEN_INDEX = 1;",
    to: "uint256 internal constant MAIN_TOKEN_INDEX = 2;",
  },
  {
    fault: "every escrow is paid in the main token",
    file: STORAGE,
    from: "return index == MAIN_TOKEN_INDEX ? MAIN_TOKEN : _data().tokenAt[index];",
    to: "return MAIN_TOKEN;",
  },
  {
    fault: "a credit is drawn by anyone for its account",
    file: SETTLEMENT,
    from: "_data().credits[msg.sender];\n\n        // Check:\n        uint256 amount = credits[token];",
    to: "_data().credits[recipient];\n\n        // Check:\n        uint256 amount = credits[token];",
  },
  {
    fault: "withdrawTo pays the caller",
    file: SETTLEMENT,
    from: "IERC20(token).safeTransfer(recipient, amount);",
    to: "IERC20(token).safeTransfer(msg.sender, amount);",
  },
  {
    fault: "withdrawTo sends to the escrow contract itself",
    file: SETTLEMENT,
    from: "if (recipient == address(0) || recipient == address(this)) revert InvalidRecipient(recipient);",
    to: "if (recipient == address(0)) revert InvalidRecipient(recipient);",
  },
  {
    fault: "the event of a withdrawal names the account as the recipient",
    file: SETTLEMENT,
    from: "emit CreditWithdrawn(msg.sender, token, recipient, amount);",
    to: "emit CreditWithdrawn(msg.sender, token, msg.sender, amount);",
  },
  {
    fault: "a token's callback may withdraw to elsewhere",
    file: SETTLEMENT,
    from: "function withdrawTo(address token, address recipient) external nonReentrant {",
    to: "function withdrawTo(address token, address recipient) external {",
  },
  {
    fault: "a credit goes to the caller",
    file: SETTLEMENT,
    from: "_data().credits[recipient][token] += amount;",
    to: "_data().credits[msg.sender][token] += amount;",
  },
  {
    fault: "a refund scores",
    file: SETTLEMENT,
    from: "emit EscrowRefunded(escrowId, buyer, seller, locked);\n\n        // Interaction:\n        _payOut(escrowId, _tokenOf(deposit), buyer, locked);",
    to: "emit EscrowRefunded(escrowId, buyer, seller, locked);\n\n        // Interaction:\n        _payOut(escrowId, _tokenOf(deposit), buyer, locked);\n        _recordScore(escrowId, buyer, seller, ScoreOutcome.Split);",
  },
  {
    fault: "a refund pays the seller",
    file: SETTLEMENT,
    from: "emit EscrowRefunded(escrowId, buyer, seller, locked);\n\n        // Interaction:\n        _payOut(escrowId, _tokenOf(deposit), buyer, locked);",
    to: "emit EscrowRefunded(escrowId, buyer, seller, locked);\n\n        // Interaction:\n        _payOut(escrowId, _tokenOf(deposit), seller, locked);",
  },
  {
    fault: "the event of a resolution swaps the parties' amounts",
    file: SETTLEMENT,
    from: "            buyerAmount,\n            sellerAmount,\n            resolution.buyerPercent,",
    to: "            sellerAmount,\n            buyerAmount,\n            resolution.buyerPercent,",
  },
  {
    fault: "a ruling for the buyer is scored for the seller",
    file: SETTLEMENT,
    from: "if (outcome == DisputeOutcome.BuyerRefund) return ScoreOutcome.BuyerRefund;",
    to: "if (outcome == DisputeOutcome.BuyerRefund) return ScoreOutcome.SellerPaid;",
  },
  {
    fault: "a repeated score swaps the parties",
    file: SETTLEMENT,
    from: "recordOutcome(escrowId, stored.deposit.buyerOf(), stored.progress.sellerOf(), outcome)",
    to: "recordOutcome(escrowId, stored.progress.sellerOf(), stored.deposit.buyerOf(), outcome)",
  },
];
