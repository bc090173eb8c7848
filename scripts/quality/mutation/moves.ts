import type { Mutant } from "./mutant.ts";

const ESCROW = "EscrowV2.sol";
const SETTLEMENT = "escrow/EscrowSettlement.sol";

/** Faults in the moves of an open escrow: times, callers, payments. */
export const MOVES_FAULTS: Mutant[] = [
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
    file: SETTLEMENT,
    from: "_recordScore(escrowId, buyer, seller, ScoreOutcome.Abandonment);",
    to: "_recordScore(escrowId, buyer, seller, ScoreOutcome.Released);",
  },
  {
    fault: "an abandonment pays the seller",
    file: SETTLEMENT,
    from: "emit EscrowAbandoned(escrowId, buyer, seller, locked);\n\n        // Interaction:\n        _payOut(escrowId, _tokenOf(deposit), buyer, locked);",
    to: "emit EscrowAbandoned(escrowId, buyer, seller, locked);\n\n        // Interaction:\n        _payOut(escrowId, _tokenOf(deposit), seller, locked);",
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
    from: "        _requireWindowOpen(progress, deposit);\n\n        _release(",
    to: "\n        _release(",
  },
  {
    fault: "anyone may call the escrow contract's resolution",
    file: ESCROW,
    from: "if (msg.sender != RESOLVER) revert CallerNotResolverContract(msg.sender, RESOLVER);",
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
    file: SETTLEMENT,
    from: "_payOut(escrowId, token, buyer, buyerAmount);\n        _payOut(escrowId, token, seller, sellerAmount);",
    to: "_payOut(escrowId, token, seller, buyerAmount);\n        _payOut(escrowId, token, buyer, sellerAmount);",
  },
  {
    fault: "a resolved dispute can be resolved again",
    file: SETTLEMENT,
    from: "stored.progress = progress.withState(EscrowState.Resolved);",
    to: "",
  },
  {
    fault: "a declined job can be declined again",
    file: SETTLEMENT,
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
  {
    fault: "an acceptance is told as automatic",
    file: ESCROW,
    from: "_release(escrowId, stored, progress, deposit, ReleaseCause.Acceptance);",
    to: "_release(escrowId, stored, progress, deposit, ReleaseCause.WindowElapsed);",
  },
  {
    fault: "a ruling for the seller may pay the buyer half",
    file: ESCROW,
    from: "return buyerPercent == 0 && sellerPercent == 100;",
    to: "return sellerPercent == 100;",
  },
  {
    fault: "an automatic release is told as an acceptance",
    file: ESCROW,
    from: "_release(escrowId, stored, progress, deposit, ReleaseCause.WindowElapsed);",
    to: "_release(escrowId, stored, progress, deposit, ReleaseCause.Acceptance);",
  },
  {
    fault: "the seller's call disputes",
    file: ESCROW,
    from: "emit DisputeOpened(escrowId, msg.sender, progress.sellerOf());",
    to: "emit DisputeOpened(escrowId, progress.sellerOf(), msg.sender);",
  },
  {
    fault: "a job is reclaimed once delivered",
    file: ESCROW,
    from: "function claimAbandoned(bytes32 escrowId) external nonReentrant {\n        // Check:\n        (StoredEscrow storage stored, PackedProgress progress) = _inState(escrowId, EscrowState.Funded);",
    to: "function claimAbandoned(bytes32 escrowId) external nonReentrant {\n        // Check:\n        (StoredEscrow storage stored, PackedProgress progress) = _inState(escrowId, EscrowState.Delivered);",
  },
  {
    fault: "anyone reclaims a job",
    file: ESCROW,
    from: "        _requireBuyer(deposit);\n        uint256 graceEnd",
    to: "        uint256 graceEnd",
  },
  {
    fault: "a dispute is open after the window",
    file: ESCROW,
    from: "        _requireWindowOpen(progress, deposit);\n\n        // Effect:\n        stored.progress = progress.withDispute",
    to: "        // Effect:\n        stored.progress = progress.withDispute",
  },
  {
    fault: "a token's callback may finalize",
    file: ESCROW,
    from: "function finalize(bytes32 escrowId) external nonReentrant {",
    to: "function finalize(bytes32 escrowId) external {",
  },
  {
    fault: "a token's callback may end an expired dispute",
    file: ESCROW,
    from: "function resolveExpired(bytes32 escrowId) external nonReentrant {",
    to: "function resolveExpired(bytes32 escrowId) external {",
  },
  {
    fault: "an expired dispute refunds the buyer in the event",
    file: ESCROW,
    from: "Resolution(DisputeOutcome.Split, 50, ResolvedBy.System, ResolutionMethod.Timeout",
    to: "Resolution(DisputeOutcome.BuyerRefund, 50, ResolvedBy.System, ResolutionMethod.Timeout",
  },
];
