// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice States of an escrow with the codes of specification section 3.1.
enum EscrowState {
    None, // 0: not created
    Funded, // 1: buyer deposited the token
    Delivered, // 2: seller submitted a proof hash
    Released, // 3: complete, seller paid; terminal
    Refunded, // 4: buyer refunded; terminal
    Disputed, // 5: under review
    Resolved, // 6: dispute resolved; terminal
    Abandoned // 7: seller no-show; terminal
}

/// @notice Outcomes of a dispute (specification section 2.6).
enum DisputeOutcome {
    BuyerRefund,
    SellerPaid,
    Split
}

/// @notice What a settlement means for the scores of both parties (specification section 3.2).
enum ScoreOutcome {
    Released, // buyer +1, seller +1
    BuyerRefund, // buyer +1, seller -3
    SellerPaid, // buyer -3, seller +1
    Split, // buyer 0, seller 0
    Abandonment // buyer 0, seller -5
}

/// @notice Who resolved a dispute: the AI resolver (and the rules of the contract itself) or an admin.
enum ResolvedBy {
    System,
    Admin
}

/// @notice How a dispute came to its end.
enum ResolutionMethod {
    Ruling, // a ruling submitted to the resolver contract
    Agreement, // both parties signed the same split
    Timeout // no ruling within 30 days of the dispute
}

/// @notice The moves that `nextActions` can list, named after the functions that make them.
enum EscrowAction {
    SubmitDelivery,
    Accept,
    Finalize,
    ClaimAbandoned,
    Refund,
    OpenDispute,
    Resolve,
    ResolveExpired,
    RetryScore
}

/// @notice The terms of an escrow as its buyer signs them.
/// @param amount gross deposit in token units, the 2% fee included
/// @param deadline unix seconds until which the seller may deliver: 600 to 2^22 - 1 seconds (48.5 days) from now
/// @param disputeWindow seconds after the delivery in which the buyer may accept or dispute; 0 means 3600
/// @param abandonmentGrace seconds after the deadline before the buyer may reclaim; 0 means 172800
/// @param criteriaHash hash of the agreed delivery criteria
struct EscrowTerms {
    bytes32 escrowId;
    address buyer;
    address seller;
    uint256 amount;
    address token;
    uint256 deadline;
    uint256 disputeWindow;
    uint256 abandonmentGrace;
    bytes32 criteriaHash;
}

/// @notice The record that `getEscrow` returns. Times are unix seconds, spans seconds, amounts token units.
struct Escrow {
    address buyer;
    address seller;
    address token;
    uint256 amount; // gross deposit
    uint256 fee; // ceil(2% of amount), derived
    uint256 locked; // amount - fee, derived
    EscrowState state;
    uint256 createdAt;
    uint256 deadline;
    uint256 deliveredAt; // 0 before the delivery
    uint256 disputedAt; // 0 without a dispute
    uint256 disputeWindow;
    uint256 abandonmentGrace;
    bytes32 criteriaHash;
}

/// @notice One open move of an escrow. It may be made while `opensAt <= block.timestamp <= closesAt`.
/// @param caller who may make it; the zero address means anyone
/// @param closesAt unix seconds, `type(uint256).max` when it never closes
struct OpenAction {
    EscrowAction action;
    address caller;
    uint256 opensAt;
    uint256 closesAt;
}

/// @notice What a seller asks of every escrow that names it. All zero means open to every escrow.
/// @param minAmountUsd least value of the deposit in USD with 6 decimals
/// @param minDeliverySeconds least span from creation to the deadline in seconds
/// @param paused true while the seller takes no new escrow
struct SellerTerms {
    uint64 minAmountUsd;
    uint32 minDeliverySeconds;
    bool paused;
}

/// @notice How an allow-listed token is valued.
/// @param feed price feed of the token in USD; the zero address means one token is one US dollar
/// @param maxPriceAge seconds after which an answer of the feed is stale
/// @param decimals decimals of the token
/// @param listed true while new escrows may use the token
/// @param minAmount least deposit in token units
struct TokenConfig {
    address feed;
    uint32 maxPriceAge;
    uint8 decimals;
    bool listed;
    uint96 minAmount;
}

/// @notice A token with its valuation, as `initialize` takes it.
struct TokenListing {
    address token;
    TokenConfig config;
}
