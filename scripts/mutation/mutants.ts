/** One small fault in one contract. */
export interface Mutant {
  /** What the fault does, as a sentence that must not come true. */
  fault: string;
  /** Path under contracts/. */
  file: string;
  /** Text of the source, which must occur exactly once … */
  from: string;
  /** … and what stands in its place. */
  to: string;
}

const ESCROW = "EscrowV2.sol";
const CREATION = "escrow/EscrowCreation.sol";
const SETTLEMENT = "escrow/EscrowSettlement.sol";
const ADMINISTRATION = "escrow/EscrowAdministration.sol";
const STORAGE = "escrow/EscrowStorage.sol";
const VIEWS = "escrow/EscrowViews.sol";
const RECORD = "types/StoredEscrow.sol";
const FEE = "libraries/FeeMath.sol";
const CAPS = "libraries/JobValueCaps.sol";
const VALUE = "libraries/TokenValue.sol";
const CALLS = "libraries/BoundedCall.sol";
const SCORE = "ScoreV2.sol";
const RESOLVER = "ResolverV2.sol";

/** The faults that the tests must find, by the part that they are in. */
export const MUTANTS: Mutant[] = [
  // Times and callers of the moves
  {
    fault: "a delivery at the deadline's own second is refused",
    file: ESCROW,
    from: "if (block.timestamp > deadline) revert DeadlinePassed",
    to: "if (block.timestamp >= deadline) revert DeadlinePassed",
  },
  {
    fault: "a delivery is taken after the deadline",
    file: ESCROW,
    from: "if (block.timestamp > deadline) revert DeadlinePassed(block.timestamp, deadline);",
    to: "",
  },
  {
    fault: "anyone may submit a delivery and decline a job",
    file: ESCROW,
    from: "if (msg.sender != seller) revert CallerNotSeller(msg.sender, seller);",
    to: "",
  },
  {
    fault: "anyone may accept, dispute and reclaim",
    file: ESCROW,
    from: "if (msg.sender != buyer) revert CallerNotBuyer(msg.sender, buyer);",
    to: "",
  },
  {
    fault: "the buyer reclaims one second too early",
    file: ESCROW,
    from: "if (block.timestamp <= graceEnd) revert AbandonmentGraceOpen",
    to: "if (block.timestamp < graceEnd) revert AbandonmentGraceOpen",
  },
  {
    fault: "the seller declines one second too late",
    file: ESCROW,
    from: "if (block.timestamp > graceEnd) revert AbandonmentGraceElapsed",
    to: "if (block.timestamp > graceEnd + 1) revert AbandonmentGraceElapsed",
  },
  {
    fault: "an abandonment is scored as a release",
    file: ESCROW,
    from: "_recordScore(escrowId, msg.sender, seller, ScoreOutcome.Abandonment);",
    to: "_recordScore(escrowId, msg.sender, seller, ScoreOutcome.Released);",
  },
  {
    fault: "an abandonment pays the seller",
    file: ESCROW,
    from: "_payOut(escrowId, _tokenOf(terms), msg.sender, locked);",
    to: "_payOut(escrowId, _tokenOf(terms), seller, locked);",
  },
  {
    fault: "a release one second before the window's end",
    file: ESCROW,
    from: "if (block.timestamp <= windowEnd) revert DisputeWindowOpen",
    to: "if (block.timestamp < windowEnd) revert DisputeWindowOpen",
  },
  {
    fault: "acceptance and dispute one second after the window",
    file: ESCROW,
    from: "if (block.timestamp > windowEnd) revert DisputeWindowElapsed",
    to: "if (block.timestamp > windowEnd + 1) revert DisputeWindowElapsed",
  },
  {
    fault: "acceptance never ends",
    file: ESCROW,
    from: "        _requireWindowOpen(progress, terms);\n\n        _release(",
    to: "\n        _release(",
  },
  {
    fault: "anyone may call the escrow contract's resolution",
    file: ESCROW,
    from: "if (msg.sender != resolver) revert CallerNotResolver(msg.sender, resolver);",
    to: "",
  },
  {
    fault: "a dispute expires one second too early",
    file: ESCROW,
    from: "if (block.timestamp <= expiresAt) revert ResolutionNotExpired",
    to: "if (block.timestamp < expiresAt) revert ResolutionNotExpired",
  },
  {
    fault: "an expired dispute gives the buyer 49 percent",
    file: ESCROW,
    from: "Resolution(DisputeOutcome.Split, 50, ResolvedBy.System, ResolutionMethod.Timeout",
    to: "Resolution(DisputeOutcome.Split, 49, ResolvedBy.System, ResolutionMethod.Timeout",
  },
  {
    fault: "an expired dispute is told as a ruling",
    file: ESCROW,
    from: "ResolvedBy.System, ResolutionMethod.Timeout, bytes32(0))",
    to: "ResolvedBy.System, ResolutionMethod.Ruling, bytes32(0))",
  },
  {
    fault: "the escrow contract takes any percentages",
    file: ESCROW,
    from: "return buyerPercent <= 100 && sellerPercent == 100 - buyerPercent;",
    to: "return buyerPercent <= 100;",
  },
  {
    fault: "a ruling for the buyer may leave him nothing",
    file: ESCROW,
    from: "return buyerPercent == 100 && sellerPercent == 0;",
    to: "return buyerPercent + sellerPercent == 100;",
  },
  {
    fault: "a resolution pays the parties the wrong way round",
    file: ESCROW,
    from: "_payOut(escrowId, token, buyer, buyerAmount);\n        _payOut(escrowId, token, seller, sellerAmount);",
    to: "_payOut(escrowId, token, seller, buyerAmount);\n        _payOut(escrowId, token, buyer, sellerAmount);",
  },
  {
    fault: "a resolved dispute can be resolved again",
    file: ESCROW,
    from: "stored.progress = progress.withState(EscrowState.Resolved);",
    to: "",
  },
  {
    fault: "a declined job can be declined again",
    file: ESCROW,
    from: "stored.progress = progress.withState(EscrowState.Refunded);",
    to: "",
  },
  {
    fault: "refundMany leaves out the first",
    file: ESCROW,
    from: "for (uint256 i = 0; i < escrowIds.length; ++i) {",
    to: "for (uint256 i = 1; i < escrowIds.length; ++i) {",
  },
  {
    fault: "a token's callback may accept",
    file: ESCROW,
    from: "function accept(bytes32 escrowId) external nonReentrant {",
    to: "function accept(bytes32 escrowId) external {",
  },
  {
    fault: "a token's callback may decline",
    file: ESCROW,
    from: "function refund(bytes32 escrowId) external nonReentrant {",
    to: "function refund(bytes32 escrowId) external {",
  },
  {
    fault: "the implementation can be initialized by anyone",
    file: ESCROW,
    from: "        _disableInitializers();\n",
    to: "",
  },
  // Creation
  {
    fault: "a pause stops nothing",
    file: CREATION,
    from: "if ($.paused) revert NewEscrowsPaused();",
    to: "",
  },
  {
    fault: "an escrow id can be used again",
    file: CREATION,
    from: "if (stored.progress.stateOf() != EscrowState.None) revert EscrowAlreadyExists(terms.escrowId);",
    to: "",
  },
  {
    fault: "a wallet deals with itself and farms its score",
    file: CREATION,
    from: "if (terms.seller == terms.buyer) revert BuyerIsSeller(terms.buyer);",
    to: "",
  },
  {
    fault: "the escrow contract may be the seller",
    file: CREATION,
    from: "if (terms.seller == address(0) || terms.seller == address(this))",
    to: "if (terms.seller == address(0))",
  },
  {
    fault: "a window of 299 seconds is taken",
    file: CREATION,
    from: "terms.disputeWindow < ProtocolConstants.MIN_DISPUTE_WINDOW_SECONDS ||",
    to: "terms.disputeWindow + 1 < ProtocolConstants.MIN_DISPUTE_WINDOW_SECONDS ||",
  },
  {
    fault: "the longest window is refused",
    file: CREATION,
    from: "terms.disputeWindow > ProtocolConstants.MAX_DISPUTE_WINDOW_SECONDS",
    to: "terms.disputeWindow >= ProtocolConstants.MAX_DISPUTE_WINDOW_SECONDS",
  },
  {
    fault: "the default grace is that of the window",
    file: CREATION,
    from: "terms.abandonmentGrace = ProtocolConstants.DEFAULT_ABANDONMENT_GRACE_SECONDS;",
    to: "terms.abandonmentGrace = ProtocolConstants.DEFAULT_DISPUTE_WINDOW_SECONDS;",
  },
  {
    fault: "a deadline of 599 seconds is taken",
    file: CREATION,
    from: "if (deadline < earliest) revert DeadlineTooEarly",
    to: "if (deadline + 1 < earliest) revert DeadlineTooEarly",
  },
  {
    fault: "a deadline past the record's range is taken",
    file: CREATION,
    from: "if (deadline > latest) revert DeadlineTooLate(deadline, latest);",
    to: "",
  },
  {
    fault: "the least deposit is refused",
    file: CREATION,
    from: "if (terms.amount < config.minAmount) revert AmountBelowMinimum",
    to: "if (terms.amount <= config.minAmount) revert AmountBelowMinimum",
  },
  {
    fault: "a deposit that does not fit is taken",
    file: CREATION,
    from: "if (terms.amount > type(uint96).max) revert AmountAboveMaximum(terms.amount, type(uint96).max);",
    to: "",
  },
  {
    fault: "a seller's pause is ignored",
    file: CREATION,
    from: "if (asked.paused) revert SellerPaused(terms.seller);",
    to: "",
  },
  {
    fault: "a seller's minimum keeps out what just meets it",
    file: CREATION,
    from: "if (valueUsd < asked.minAmountUsd) revert",
    to: "if (valueUsd <= asked.minAmountUsd) revert",
  },
  {
    fault: "a job at the cap is refused",
    file: CREATION,
    from: "if (valueUsd > capUsd) revert JobValueCapExceeded",
    to: "if (valueUsd >= capUsd) revert JobValueCapExceeded",
  },
  {
    fault: "the score contract is asked only for jobs above $25",
    file: CREATION,
    from: "if (valueUsd > JobValueCaps.LOWEST_CAP_USD) {",
    to: "if (valueUsd > JobValueCaps.LOWEST_CAP_USD + 15e6) {",
  },
  {
    fault: "a token that keeps a fee goes unnoticed",
    file: CREATION,
    from: "if (received != amount) revert",
    to: "if (received > amount) revert",
  },
  {
    fault: "large deposits are recorded as nothing",
    file: CREATION,
    from: "if (terms.amount > MAX_INLINE_AMOUNT) stored.largeAmount = terms.amount;",
    to: "",
  },
  {
    fault: "an authorization holds on other chains too",
    file: CREATION,
    from: "abi.encode(AUTHORIZATION_TYPEHASH, block.chainid, address(this), terms)",
    to: "abi.encode(AUTHORIZATION_TYPEHASH, uint256(0), address(this), terms)",
  },
  // Settlement
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
    fault: "an acceptance is told as automatic",
    file: ESCROW,
    from: "_release(escrowId, stored, progress, terms, false);",
    to: "_release(escrowId, stored, progress, terms, true);",
  },
  // Libraries and the record
  {
    fault: "the fee is rounded down",
    file: FEE,
    from: " + (ProtocolConstants.BPS_DENOMINATOR - 1)",
    to: "",
  },
  {
    fault: "the fee is returned with the rest",
    file: FEE,
    from: "return amount - feeOf(amount);",
    to: "return amount;",
  },
  {
    fault: "a unit is lost in a split",
    file: FEE,
    from: "sellerPart = locked - buyerPart;",
    to: "sellerPart = (locked * (ProtocolConstants.PERCENT_DENOMINATOR - buyerPercent)) / 100;",
  },
  { fault: "a score of 10 is below the step", file: CAPS, from: "if (score < 10)", to: "if (score <= 10)" },
  { fault: "the step at 70 comes at 71", file: CAPS, from: "if (score < 70)", to: "if (score < 71)" },
  {
    fault: "a value is rounded down under a cap",
    file: VALUE,
    from: "tokenUnit * priceUnit, Math.Rounding.Ceil",
    to: "tokenUnit * priceUnit, Math.Rounding.Floor",
  },
  { fault: "a price of zero is taken", file: VALUE, from: "answer <= 0 ||", to: "answer < 0 ||" },
  {
    fault: "a price that is just old enough is refused",
    file: VALUE,
    from: "block.timestamp - updatedAt > maxPriceAge",
    to: "block.timestamp - updatedAt >= maxPriceAge",
  },
  {
    fault: "an answer that was carried over is taken",
    file: VALUE,
    from: "answeredInRound < roundId ||",
    to: "answeredInRound > roundId ||",
  },
  {
    fault: "a token that returns false is believed",
    file: CALLS,
    from: "and(gt(returndatasize(), 0x1f), iszero(mload(0x00)))",
    to: "0",
  },
  {
    fault: "a payout can be starved of gas on purpose",
    file: CALLS,
    from: "if (available < required) revert IEscrow.InsufficientGas(available, required);",
    to: "",
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
    fault: "a delisted token reads as listed",
    file: ADMINISTRATION,
    from: "listed: stored.minAmount != 0,",
    to: "listed: true,",
  },
  {
    fault: "the pauser may be taken over by anyone",
    file: ADMINISTRATION,
    from: "if (msg.sender != pending) revert CallerNotPendingPauser(msg.sender, pending);",
    to: "",
  },
  {
    fault: "anyone may stop new escrows",
    file: ADMINISTRATION,
    from: "if (msg.sender != current) revert CallerNotPauser(msg.sender, current);",
    to: "",
  },
  {
    fault: "anyone may upgrade the escrow contract",
    file: ADMINISTRATION,
    from: "function _authorizeUpgrade(address) internal override onlyOwner {}",
    to: "function _authorizeUpgrade(address) internal override {}",
  },
  {
    fault: "a token is listed with other decimals than its own",
    file: ADMINISTRATION,
    from: "if (config.decimals != actual) revert TokenDecimalsMismatch(token, config.decimals, actual);",
    to: "",
  },
  // Score
  {
    fault: "anyone may write scores",
    file: SCORE,
    from: "if (msg.sender != escrow) revert CallerNotEscrow(msg.sender, escrow);",
    to: "",
  },
  {
    fault: "a lost dispute costs the seller 2",
    file: SCORE,
    from: "if (outcome == ScoreOutcome.BuyerRefund) return (1, -3);",
    to: "if (outcome == ScoreOutcome.BuyerRefund) return (1, -2);",
  },
  {
    fault: "a dispute that the seller wins costs the seller",
    file: SCORE,
    from: "if (outcome == ScoreOutcome.SellerPaid) return (-3, 1);",
    to: "if (outcome == ScoreOutcome.SellerPaid) return (1, -3);",
  },
  {
    fault: "the higher cap wins",
    file: SCORE,
    from: "return sellerCap < buyerCap ?",
    to: "return sellerCap > buyerCap ?",
  },
  // Resolver
  {
    fault: "anyone may rule",
    file: RESOLVER,
    from: "if (msg.sender != resolver) revert CallerNotResolver(role, msg.sender, resolver);",
    to: "",
  },
  {
    fault: "the buyer alone makes an agreement",
    file: RESOLVER,
    from: "if (!SignatureChecker.isValidSignatureNow(escrow.seller, digest, signatures[1])) {",
    to: "if (!SignatureChecker.isValidSignatureNow(escrow.buyer, digest, signatures[1])) {",
  },
  {
    fault: "an agreement holds for any percentage",
    file: RESOLVER,
    from: "keccak256(abi.encode(AGREEMENT_TYPEHASH, escrowId, buyerPercent))",
    to: "keccak256(abi.encode(AGREEMENT_TYPEHASH, escrowId, uint256(0)))",
  },
  {
    fault: "a ruling needs no rationale",
    file: RESOLVER,
    from: "if (rationaleHash == bytes32(0)) revert MissingRationale(escrowId);",
    to: "",
  },
  {
    fault: "a split by the system is 60 to 40",
    file: RESOLVER,
    from: "        return 50;\n",
    to: "        return 60;\n",
  },
];
