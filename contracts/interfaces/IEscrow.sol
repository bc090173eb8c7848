// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {
    DisputeOutcome,
    Escrow,
    EscrowState,
    EscrowTerms,
    OpenAction,
    ResolutionMethod,
    ResolvedBy,
    ScoreOutcome,
    SellerTerms,
    TokenConfig
} from "../types/EscrowTypes.sol";

/// @title Escrow contract of the agent marketplace
/// @notice Holds the deposit of each job between a buyer agent and a seller agent until the job settles
/// (specification sections 2.4, 3.1, 3.2, 4, 8.1 and 8.4).
interface IEscrow {
    // ------------------------------------------------------------------------------------------
    // Events
    // ------------------------------------------------------------------------------------------

    /// @notice Emitted when a buyer has deposited the token of a new escrow.
    /// @param amount gross deposit in token units
    /// @param fee part of `amount` sent to the treasury, in token units
    /// @param deadline unix seconds until which the seller may deliver
    /// @param disputeWindow seconds, the default already applied
    /// @param abandonmentGrace seconds, the default already applied
    /// @param valueUsd value of `amount` in USD with 6 decimals
    event EscrowCreated(
        bytes32 indexed escrowId,
        address indexed buyer,
        address indexed seller,
        address token,
        uint256 amount,
        uint256 fee,
        uint256 deadline,
        uint256 disputeWindow,
        uint256 abandonmentGrace,
        bytes32 criteriaHash,
        uint256 valueUsd
    );

    /// @notice Emitted when the seller has committed to a delivery; the dispute window starts.
    event DeliverySubmitted(bytes32 indexed escrowId, address indexed seller, bytes32 proofHash);

    /// @notice Emitted when the seller has been paid by the buyer's acceptance or by the end of the dispute window.
    /// @param sellerAmount token units paid (or credited) to the seller
    /// @param automatic true when the dispute window elapsed, false when the buyer accepted
    event EscrowReleased(
        bytes32 indexed escrowId,
        address indexed buyer,
        address indexed seller,
        uint256 sellerAmount,
        bool automatic
    );

    /// @notice Emitted when the seller has declined the job and the buyer has its deposit less the fee.
    event EscrowRefunded(bytes32 indexed escrowId, address indexed buyer, address indexed seller, uint256 buyerAmount);

    /// @notice Emitted when the buyer has reclaimed the deposit less the fee of a job that was never delivered.
    event EscrowAbandoned(bytes32 indexed escrowId, address indexed buyer, address indexed seller, uint256 buyerAmount);

    /// @notice Emitted when the buyer has opened a dispute; the funds are frozen.
    event DisputeOpened(bytes32 indexed escrowId, address indexed buyer, address indexed seller);

    /// @notice Emitted when a dispute has ended.
    /// @param buyerAmount token units paid (or credited) to the buyer
    /// @param sellerAmount token units paid (or credited) to the seller
    /// @param buyerPercent whole percent of the locked funds, the seller has the rest of 100
    /// @param rationaleHash hash of the written rationale; zero for an agreement or a timeout
    event EscrowResolved(
        bytes32 indexed escrowId,
        address indexed buyer,
        address indexed seller,
        DisputeOutcome outcome,
        uint256 buyerAmount,
        uint256 sellerAmount,
        uint256 buyerPercent,
        ResolvedBy resolvedBy,
        ResolutionMethod resolutionMethod,
        bytes32 rationaleHash
    );

    /// @notice Emitted when a transfer failed and its amount waits for `withdraw`.
    event PayoutCredited(bytes32 indexed escrowId, address indexed recipient, address indexed token, uint256 amount);

    /// @notice Emitted when an account has drawn its credit.
    /// @param recipient who got the tokens: the account itself, or whom it named
    event CreditWithdrawn(address indexed account, address indexed token, address recipient, uint256 amount);

    /// @notice Emitted when the score contract failed; `retryScore` may repeat the update.
    event ScoreUpdateFailed(bytes32 indexed escrowId, ScoreOutcome outcome);

    /// @notice Emitted when an update that had failed is in the score contract.
    event ScoreUpdateRetried(bytes32 indexed escrowId, ScoreOutcome outcome);

    /// @notice Emitted when a seller has set what it asks of new escrows.
    event SellerTermsSet(address indexed seller, uint256 minAmountUsd, uint256 minDeliverySeconds, bool paused);

    /// @notice Emitted when a token has been listed or its valuation has changed.
    event TokenListed(address indexed token, address feed, uint256 maxPriceAge, uint256 decimals, uint256 minAmount);

    /// @notice Emitted when new escrows may no longer use a token.
    event TokenDelisted(address indexed token);

    /// @notice Emitted when the address that receives the fees has changed.
    event TreasurySet(address indexed previousTreasury, address indexed newTreasury);

    /// @notice Emitted when new escrows have been stopped.
    event Paused(address account);

    /// @notice Emitted when new escrows are allowed again.
    event Unpaused(address account);

    /// @notice Emitted when a new pauser has been proposed and must still accept.
    event PauserTransferStarted(address indexed currentPauser, address indexed pendingPauser);

    /// @notice Emitted when the pauser has changed.
    event PauserTransferred(address indexed previousPauser, address indexed newPauser);

    // ------------------------------------------------------------------------------------------
    // Errors
    // ------------------------------------------------------------------------------------------

    /// @notice Thrown when an escrow id has been used before.
    error EscrowAlreadyExists(bytes32 escrowId);
    /// @notice Thrown when an escrow id was never created.
    error EscrowNotFound(bytes32 escrowId);
    /// @notice Thrown when a move starts from another state.
    error EscrowNotInState(bytes32 escrowId, EscrowState current, EscrowState required);
    /// @notice Thrown when the caller is not the party that may make the move.
    error CallerNotBuyer(address caller, address buyer);
    /// @notice Thrown when the caller is not the party that may make the move.
    error CallerNotSeller(address caller, address seller);
    /// @notice Thrown when the caller is not the resolver contract.
    error CallerNotResolverContract(address caller, address resolver);
    /// @notice Thrown when the caller is not the pauser.
    error CallerNotPauser(address caller, address pauser);
    /// @notice Thrown when the caller is not the pending pauser.
    error CallerNotPendingPauser(address caller, address pendingPauser);
    /// @notice Thrown when buyer and seller are the same wallet.
    error BuyerIsSeller(address party);
    /// @notice Thrown when the seller of a new escrow is the zero address or this contract.
    error InvalidSeller(address seller);
    /// @notice Thrown when a credit is to be drawn to the zero address or to this contract.
    error InvalidRecipient(address recipient);
    /// @notice Thrown when the treasury would be the zero address or this contract.
    error InvalidTreasury(address treasury);
    /// @notice Thrown when the pauser would be the zero address.
    error InvalidPauser(address pauser);
    /// @notice Thrown when the score or the resolver contract does not exist.
    error PeerWithoutCode(address peer);
    /// @notice Thrown when a token to list is not a contract.
    error TokenWithoutCode(address token);
    /// @notice Thrown when the price feed of a token to list is not a contract.
    error FeedWithoutCode(address feed);
    /// @notice Thrown when the first token to be listed is not the main token of the implementation.
    error MainTokenNotFirst(address token, address mainToken);
    /// @notice Thrown when an escrow id is zero.
    error InvalidEscrowId(bytes32 escrowId);
    /// @notice Thrown when new escrows may not use the token.
    error TokenNotListed(address token);
    /// @notice Thrown when a deposit is below the least deposit in its token.
    error AmountBelowMinimum(uint256 amount, uint256 minimum);
    /// @notice Thrown when a deposit, or an amount to value, is above 2^96 - 1 token units.
    error AmountAboveMaximum(uint256 amount, uint256 maximum);
    /// @notice Thrown when the least deposit in a token is so small that the fee would leave nothing, or does not fit the
    /// stored record.
    error MinAmountOutOfRange(uint256 minAmount, uint256 minimum, uint256 maximum);
    /// @notice Thrown when a token or a price feed has so many decimals that a value could overflow.
    error DecimalsAboveMaximum(address source, uint256 decimals, uint256 maximum);
    /// @notice Thrown when a deadline is earlier than now plus 600 seconds.
    error DeadlineTooEarly(uint256 deadline, uint256 earliest);
    /// @notice Thrown when a deadline is later than now plus 2^22 - 1 seconds (48.5 days), the most that fits the stored
    /// record.
    error DeadlineTooLate(uint256 deadline, uint256 latest);
    /// @notice Thrown when a dispute window is outside its range.
    error DisputeWindowOutOfRange(uint256 disputeWindow, uint256 minimum, uint256 maximum);
    /// @notice Thrown when an abandonment grace is outside its range.
    error AbandonmentGraceOutOfRange(uint256 abandonmentGrace, uint256 minimum, uint256 maximum);
    /// @notice Thrown when the value of a job is above the lower cap of its parties.
    error JobValueCapExceeded(address agent, uint256 valueUsd, uint256 capUsd);
    /// @notice Thrown when a value is below what the seller asks.
    error BelowSellerMinimum(address seller, uint256 valueUsd, uint256 minAmountUsd);
    /// @notice Thrown when the time to deliver is below what the seller asks.
    error DeliveryTimeBelowSellerMinimum(address seller, uint256 deliverySeconds, uint256 minDeliverySeconds);
    /// @notice Thrown when the seller takes no new escrow.
    error SellerPaused(address seller);
    /// @notice Thrown when a delivery comes after the deadline.
    error DeadlinePassed(uint256 timestamp, uint256 deadline);
    /// @notice Thrown when a move of the buyer comes after the dispute window.
    error DisputeWindowElapsed(uint256 timestamp, uint256 windowEnd);
    /// @notice Thrown when an automatic release comes before the end of the dispute window.
    error DisputeWindowOpen(uint256 timestamp, uint256 windowEnd);
    /// @notice Thrown when a reclaim comes before the end of the grace.
    error AbandonmentGraceOpen(uint256 timestamp, uint256 graceEnd);
    /// @notice Thrown when a decline comes after the end of the grace.
    error AbandonmentGraceElapsed(uint256 timestamp, uint256 graceEnd);
    /// @notice Thrown when the timeout of a dispute has not come yet.
    error ResolutionNotExpired(uint256 timestamp, uint256 expiresAt);
    /// @notice Thrown when percentages do not fit the outcome or do not add to 100.
    error InvalidPercentages(DisputeOutcome outcome, uint256 buyerPercent, uint256 sellerPercent);
    /// @notice Thrown when the price feed gives no usable answer: one that is not positive or above 2^128 - 1, of a round
    /// that is incomplete (`updatedAt` 0), carried over (`answeredInRound` below `roundId`), from the future
    /// (`updatedAt` above `timestamp`) or older than `maxPriceAge` seconds.
    error InvalidPrice(
        address feed,
        int256 answer,
        uint256 updatedAt,
        uint256 maxPriceAge,
        uint256 timestamp,
        uint80 roundId,
        uint80 answeredInRound
    );
    /// @notice Thrown when a transfer moved another amount than asked.
    error TransferAmountMismatch(address token, uint256 expected, uint256 actual);
    /// @notice Thrown when nothing is credited to the caller.
    error NothingToWithdraw(address recipient, address token);
    /// @notice Thrown when no score update of the escrow is outstanding.
    error NoScorePending(bytes32 escrowId);
    /// @notice Thrown when so little gas is left that an inner call could be made to fail on purpose.
    error InsufficientGas(uint256 available, uint256 required);
    /// @notice Thrown when an escrow is created while new escrows are stopped.
    error NewEscrowsPaused();
    /// @notice Thrown when new escrows are to be stopped while they are stopped.
    error NewEscrowsAlreadyPaused();
    /// @notice Thrown when new escrows are to be allowed while they are not stopped.
    error NewEscrowsNotPaused();
    /// @notice Thrown when a price age does not fit the stored record, or is zero for a token with a feed.
    error MaxPriceAgeOutOfRange(uint256 maxPriceAge, uint256 minimum, uint256 maximum);
    /// @notice Thrown when the list of tokens is full.
    error TooManyTokens(address token, uint256 maximum);
    /// @notice Thrown when the decimals given for a token differ from what the token says.
    error TokenDecimalsMismatch(address token, uint256 given, uint256 actual);

    // ------------------------------------------------------------------------------------------
    // Moves
    // ------------------------------------------------------------------------------------------

    /// @notice Deposits `amount` of `token` for a job by `seller`; the caller is the buyer. None to Funded.
    /// @param escrowId identifier, 32 bytes chosen at checkout
    /// @param amount gross deposit in token units, the 2% fee (rounded up) included
    /// @param deadline unix seconds until which the seller may deliver: 600 to 2^22 - 1 seconds (48.5 days) from now
    /// @param disputeWindow seconds, 300 to 86400; 0 means 3600
    /// @param abandonmentGrace seconds, 3600 to 2592000; 0 means 172800
    /// @param criteriaHash hash of the agreed delivery criteria
    function createEscrow(
        bytes32 escrowId,
        address seller,
        uint256 amount,
        address token,
        uint256 deadline,
        uint256 disputeWindow,
        uint256 abandonmentGrace,
        bytes32 criteriaHash
    ) external;

    /// @notice Like `createEscrow` for `terms.buyer`, who signed an EIP-3009 `receiveWithAuthorization` whose nonce
    /// is `authorizationNonce(terms)`. Anyone may relay it; nobody can change the terms.
    /// @param validAfter unix seconds after which the authorization is valid
    /// @param validBefore unix seconds before which the authorization is valid (the end of the quote)
    /// @param signature the buyer's EIP-712 signature (ERC-1271 wallets where the token takes them)
    function createEscrowWithAuthorization(
        EscrowTerms calldata terms,
        uint256 validAfter,
        uint256 validBefore,
        bytes calldata signature
    ) external;

    /// @notice The seller commits to its delivery. Funded to Delivered, while now <= deadline.
    function submitDelivery(bytes32 escrowId, bytes32 proofHash) external;

    /// @notice The buyer accepts the delivery. Delivered to Released, while now <= deliveredAt + disputeWindow.
    function accept(bytes32 escrowId) external;

    /// @notice Anyone releases a delivery whose dispute window has elapsed. Delivered to Released.
    function finalize(bytes32 escrowId) external;

    /// @notice The buyer reclaims an undelivered job. Funded to Abandoned, when now > deadline + abandonmentGrace.
    function claimAbandoned(bytes32 escrowId) external;

    /// @notice The seller declines a job. Funded to Refunded, while now <= deadline + abandonmentGrace.
    function refund(bytes32 escrowId) external;

    /// @notice The seller declines several jobs, all or none.
    function refundMany(bytes32[] calldata escrowIds) external;

    /// @notice The buyer disputes a delivery. Delivered to Disputed, while now <= deliveredAt + disputeWindow.
    function openDispute(bytes32 escrowId) external;

    /// @notice The resolver contract ends a dispute. Disputed to Resolved.
    /// @param buyerPercent whole percent of the locked funds for the buyer: 100 for BuyerRefund, 0 for SellerPaid
    /// @param sellerPercent the rest of 100
    function resolve(
        bytes32 escrowId,
        DisputeOutcome outcome,
        uint256 buyerPercent,
        uint256 sellerPercent,
        ResolvedBy resolvedBy,
        ResolutionMethod resolutionMethod,
        bytes32 rationaleHash
    ) external;

    /// @notice Anyone ends a dispute without a ruling as Split 50/50, when now > disputedAt + 30 days.
    function resolveExpired(bytes32 escrowId) external;

    /// @notice Draws what failed transfers of `token` left to the caller.
    function withdraw(address token) external;

    /// @notice Draws the caller's credit in `token` to another address, for a caller whom the token does not pay.
    function withdrawTo(address token, address recipient) external;

    /// @notice Repeats the score update of an escrow for which it failed.
    function retryScore(bytes32 escrowId) external;

    /// @notice Sets what the caller, as a seller, asks of new escrows.
    /// @param minAmountUsd least deposit in USD with 6 decimals
    /// @param minDeliverySeconds least seconds from creation to the deadline
    /// @param paused true to take no new escrow
    function setSellerTerms(uint64 minAmountUsd, uint32 minDeliverySeconds, bool paused) external;

    // ------------------------------------------------------------------------------------------
    // Administration
    // ------------------------------------------------------------------------------------------

    /// @notice Lists a token or changes how it is valued. Owner only.
    /// @param config `feed` with code, or zero for a token that counts as one dollar; `maxPriceAge` up to 2^24 - 1
    /// seconds, `minAmount` 2 to 2^56 - 1 units (of 1 unit the fee leaves nothing), `decimals` as the token says and at
    /// most 36; `listed` is ignored
    function listToken(address token, TokenConfig calldata config) external;

    /// @notice Stops new escrows in a token; open ones settle as before. Owner only.
    function delistToken(address token) external;

    /// @notice Sets the address that receives the fees. Owner only.
    function setTreasury(address newTreasury) external;

    /// @notice Proposes a pauser, who must accept. Owner only.
    function transferPauser(address newPauser) external;

    /// @notice Accepts the role of the pauser.
    function acceptPauser() external;

    /// @notice Stops new escrows; every exit stays open. Pauser only.
    function pause() external;

    /// @notice Allows new escrows again. Pauser only.
    function unpause() external;

    // ------------------------------------------------------------------------------------------
    // Views
    // ------------------------------------------------------------------------------------------

    /// @notice The record of an escrow; state None and zeros for an id that was never created.
    function getEscrow(bytes32 escrowId) external view returns (Escrow memory);

    /// @notice The moves that are open now or will open if nothing happens before.
    function nextActions(bytes32 escrowId) external view returns (OpenAction[] memory);

    /// @notice The nonce that binds an EIP-3009 authorization to every term, this contract and this chain.
    function authorizationNonce(EscrowTerms calldata terms) external view returns (bytes32);

    /// @notice The value of `amount` of a listed token, at most 2^96 - 1 units, in USD with 6 decimals, by its feed now.
    function usdValue(address token, uint256 amount) external view returns (uint256);

    /// @notice Token units that wait for `recipient` to withdraw.
    function creditOf(address recipient, address token) external view returns (uint256);

    /// @notice What a seller asks of new escrows.
    function sellerTerms(address seller) external view returns (SellerTerms memory);

    /// @notice How a token is valued and whether new escrows may use it.
    function tokenConfig(address token) external view returns (TokenConfig memory);

    /// @notice The address that receives the fees.
    function treasury() external view returns (address);

    /// @notice The score contract; only an upgrade changes it.
    function scoreContract() external view returns (address);

    /// @notice The resolver contract; only an upgrade changes it.
    function resolverContract() external view returns (address);

    /// @notice The token that most jobs are paid in; only an upgrade changes it.
    function mainToken() external view returns (address);

    /// @notice True while new escrows are stopped.
    function paused() external view returns (bool);

    /// @notice The pauser.
    function pauser() external view returns (address);

    /// @notice The proposed pauser who has not accepted yet, or zero.
    function pendingPauser() external view returns (address);
}
