import type { Mutant } from "./mutant.ts";

const CREATION = "escrow/EscrowCreation.sol";
const ESCROW = "EscrowV2.sol";
const RESOLVER = "ResolverV2.sol";
const SETTLEMENT = "escrow/EscrowSettlement.sol";

/** A swap of two checks that follow each other: both still hold, but a call that fails both gets the other error. */
function swapped(fault: string, file: string, first: string, second: string, between = "\n        "): Mutant {
  return { fault, file, from: `${first}${between}${second}`, to: `${second}${between}${first}` };
}

/** Faults in the order of the checks, which the pages of the operations promise. */
export const ORDER_FAULTS: Mutant[] = [
  swapped(
    "a creation looks at its id before the pause",
    CREATION,
    "if (isPaused) revert NewEscrowsPaused();",
    "if (terms.escrowId == bytes32(0)) revert InvalidEscrowId(terms.escrowId);",
  ),
  swapped(
    "a creation looks at its seller before its id",
    CREATION,
    "if (terms.escrowId == bytes32(0)) revert InvalidEscrowId(terms.escrowId);",
    "if (terms.seller == address(0) || terms.seller == address(this)) revert InvalidSeller(terms.seller);",
  ),
  {
    fault: "a creation looks for its id among the used ones before it compares its parties",
    file: CREATION,
    from: `if (terms.seller == terms.buyer) revert BuyerIsSeller(terms.buyer);
        StoredEscrow storage stored = $.escrows[terms.escrowId];
        if (stored.progress.stateOf() != EscrowState.None) revert EscrowAlreadyExists(terms.escrowId);`,
    to: `StoredEscrow storage stored = $.escrows[terms.escrowId];
        if (stored.progress.stateOf() != EscrowState.None) revert EscrowAlreadyExists(terms.escrowId);
        if (terms.seller == terms.buyer) revert BuyerIsSeller(terms.buyer);`,
  },
  swapped(
    "a creation checks its grace before its window",
    CREATION,
    "uint256 disputeWindow = _disputeWindowOrDefault(terms.disputeWindow);",
    "uint256 abandonmentGrace = _abandonmentGraceOrDefault(terms.abandonmentGrace);",
  ),
  swapped(
    "a creation checks its deadline before its grace",
    CREATION,
    "uint256 abandonmentGrace = _abandonmentGraceOrDefault(terms.abandonmentGrace);",
    "uint256 deliverySeconds = _deliverySeconds(terms.deadline);",
  ),
  swapped(
    "a creation checks the caps before the seller's terms",
    CREATION,
    "_requireSellerTerms($, terms.seller, valueUsd, deliverySeconds);",
    "_requireWithinCaps(terms.buyer, terms.seller, valueUsd);",
  ),
  swapped(
    "a seller's least value is checked before its pause",
    CREATION,
    "if (asked.paused) revert SellerPaused(seller);",
    "if (valueUsd < asked.minAmountUsd) revert BelowSellerMinimum(seller, valueUsd, asked.minAmountUsd);",
  ),
  {
    fault: "an acceptance checks its window before its caller",
    file: ESCROW,
    from: `_requireBuyer(deposit);
        _requireWindowOpen(progress, deposit);

        _release`,
    to: `_requireWindowOpen(progress, deposit);
        _requireBuyer(deposit);

        _release`,
  },
  {
    fault: "a refund checks its time before its caller",
    file: ESCROW,
    from: `_requireSeller(progress);
        PackedDeposit deposit = stored.deposit;
        uint256 graceEnd = _graceEnd(progress, deposit);
        if (block.timestamp > graceEnd) revert AbandonmentGraceElapsed(block.timestamp, graceEnd);`,
    to: `PackedDeposit deposit = stored.deposit;
        uint256 graceEnd = _graceEnd(progress, deposit);
        if (block.timestamp > graceEnd) revert AbandonmentGraceElapsed(block.timestamp, graceEnd);
        _requireSeller(progress);`,
  },
  {
    fault: "a resolution checks its percentages before its caller",
    file: ESCROW,
    from: `if (msg.sender != RESOLVER) revert CallerNotResolverContract(msg.sender, RESOLVER);
        if (!_percentagesFit(outcome, buyerPercent, sellerPercent)) {
            revert InvalidPercentages(outcome, buyerPercent, sellerPercent);
        }`,
    to: `if (!_percentagesFit(outcome, buyerPercent, sellerPercent)) {
            revert InvalidPercentages(outcome, buyerPercent, sellerPercent);
        }
        if (msg.sender != RESOLVER) revert CallerNotResolverContract(msg.sender, RESOLVER);`,
  },
  swapped(
    "a draw looks at the credit before the recipient",
    SETTLEMENT,
    "if (recipient == address(0) || recipient == address(this)) revert InvalidRecipient(recipient);",
    "_withdraw(token, recipient);",
    "\n\n        ",
  ),
  swapped(
    "a ruling asks for its rationale before it asks whether rulings are suspended",
    RESOLVER,
    "if ($.rulingsPaused) revert RulingsArePaused();",
    "if (rationaleHash == bytes32(0)) revert MissingRationale(escrowId);",
  ),
  swapped(
    "a ruling asks for the dispute before its rationale",
    RESOLVER,
    "if (rationaleHash == bytes32(0)) revert MissingRationale(escrowId);",
    "Escrow memory escrow = _disputed(escrowId);",
  ),
  {
    fault: "a ruling looks at the parties before the tenure",
    file: RESOLVER,
    from: `if (escrow.createdAt < tenure.from || escrow.createdAt > tenure.until) {
            revert EscrowOutsideTenure(escrowId, escrow.createdAt, tenure.from, tenure.until);
        }
        if (msg.sender == escrow.buyer || msg.sender == escrow.seller) revert ResolverIsParty(escrowId, msg.sender);`,
    to: `if (msg.sender == escrow.buyer || msg.sender == escrow.seller) revert ResolverIsParty(escrowId, msg.sender);
        if (escrow.createdAt < tenure.from || escrow.createdAt > tenure.until) {
            revert EscrowOutsideTenure(escrowId, escrow.createdAt, tenure.from, tenure.until);
        }`,
  },
  swapped(
    "an agreement looks for the dispute before its deadline",
    RESOLVER,
    "if (block.timestamp > deadline) revert AgreementExpired(block.timestamp, deadline);",
    "Escrow memory escrow = _disputed(escrowId);",
  ),
  swapped(
    "an agreement asks for the seller's signature before the buyer's",
    RESOLVER,
    "_requireSigned(escrow.buyer, digest, signatures[0]);",
    "_requireSigned(escrow.seller, digest, signatures[1]);",
  ),
];
