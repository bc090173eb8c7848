import type { Mutant } from "./mutant.ts";

const CREATION = "escrow/EscrowCreation.sol";

/** Faults in the creation of escrows: checks of the terms, the deposit and the parties' limits. */
export const CREATION_FAULTS: Mutant[] = [
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
];
