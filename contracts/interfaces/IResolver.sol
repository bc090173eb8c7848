// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DisputeOutcome, ResolutionMethod, ResolvedBy} from "../types/EscrowTypes.sol";
import {ResolverTenure} from "../types/ResolverTypes.sol";

/// @title Resolver contract of the agent marketplace
/// @notice The only caller of the escrow contract's resolution: rulings of the AI resolver, rulings of an admin, and
/// settlements that both parties signed (specification sections 2.6 and 3.2). Who may rule an escrow is fixed when it is
/// created: the holder of each role at that second.
interface IResolver {
    // ------------------------------------------------------------------------------------------
    // Events
    // ------------------------------------------------------------------------------------------

    /// @notice Emitted when a dispute has been resolved through this contract.
    event DisputeResolved(
        bytes32 indexed escrowId,
        DisputeOutcome outcome,
        uint256 buyerPercent,
        ResolvedBy resolvedBy,
        ResolutionMethod resolutionMethod,
        bytes32 rationaleHash,
        address submitter
    );

    /// @notice Emitted when a new holder of a resolver role has been proposed and must still accept.
    event ResolverTransferStarted(ResolvedBy indexed role, address indexed current, address indexed pending);

    /// @notice Emitted when a resolver role has changed hands. `current` may rule escrows created from `from` on (unix
    /// seconds), `previous` keeps those of its own tenure.
    event ResolverTransferred(ResolvedBy indexed role, address indexed previous, address indexed current, uint256 from);

    /// @notice Emitted when a present or former holder of a resolver role may rule no escrow any more.
    event ResolverRevoked(ResolvedBy indexed role, address indexed resolver);

    /// @notice Emitted when rulings have been suspended.
    event RulingsPaused(address account);

    /// @notice Emitted when rulings are allowed again.
    event RulingsUnpaused(address account);

    // ------------------------------------------------------------------------------------------
    // Errors
    // ------------------------------------------------------------------------------------------

    /// @notice Thrown when the caller never held the role or was revoked.
    error CallerNotResolver(ResolvedBy role, address caller);
    /// @notice Thrown when the escrow was created outside the caller's tenure (unix seconds, both ends included).
    error EscrowOutsideTenure(bytes32 escrowId, uint256 createdAt, uint256 from, uint256 until);
    /// @notice Thrown when the caller is a party of the escrow that it would rule.
    error ResolverIsParty(bytes32 escrowId, address resolver);
    /// @notice Thrown when the caller was not proposed for the role.
    error CallerNotPendingResolver(ResolvedBy role, address caller, address pending);
    /// @notice Thrown when an address is proposed for a role that it holds or has held.
    error ResolverServedBefore(ResolvedBy role, address resolver);
    /// @notice Thrown when an address to revoke never held the role or was revoked before.
    error NotAResolver(ResolvedBy role, address resolver);
    /// @notice Thrown when a resolver would be the zero address.
    error InvalidResolver(address resolver);
    /// @notice Thrown when the escrow contract of an implementation would be the zero address.
    error InvalidEscrow(address escrow);
    /// @notice Thrown when the caller is not the pauser of the escrow contract.
    error CallerNotPauser(address caller, address pauser);
    /// @notice Thrown when a ruling is made while rulings are suspended.
    error RulingsArePaused();
    /// @notice Thrown when rulings are to be suspended while they are suspended.
    error RulingsAlreadyPaused();
    /// @notice Thrown when rulings are to be allowed while they are not suspended.
    error RulingsNotPaused();
    /// @notice Thrown when an agreement is submitted after its deadline.
    error AgreementExpired(uint256 timestamp, uint256 deadline);
    /// @notice Thrown when a signature does not belong to the party.
    error InvalidSignature(address party);
    /// @notice Thrown when a ruling carries no rationale hash.
    error MissingRationale(bytes32 escrowId);

    // ------------------------------------------------------------------------------------------
    // Resolution
    // ------------------------------------------------------------------------------------------

    /// @notice The AI resolver rules a dispute. A Split is always 50/50. Only the holder of the system role when the
    /// escrow was created, unless revoked or a party of the escrow, and not while rulings are suspended.
    function resolveBySystem(bytes32 escrowId, DisputeOutcome outcome, bytes32 rationaleHash) external;

    /// @notice An admin rules a dispute. Only the holder of the admin role when the escrow was created, unless revoked or
    /// a party of the escrow, and not while rulings are suspended.
    /// @param buyerPercent whole percent of the locked funds for the buyer: 100 for BuyerRefund, 0 for SellerPaid
    /// @param sellerPercent the rest of 100
    function resolveByAdmin(
        bytes32 escrowId,
        DisputeOutcome outcome,
        uint256 buyerPercent,
        uint256 sellerPercent,
        bytes32 rationaleHash
    ) external;

    /// @notice Both parties end a dispute as Split by their EIP-712 signatures (ERC-1271 wallets too). Anyone may submit,
    /// also while rulings are suspended.
    /// @param buyerPercent whole percent of the locked funds for the buyer, 0 to 100
    /// @param deadline unix seconds until which the agreement may be submitted
    /// @param signatures of the buyer and of the seller, in this order
    function resolveByAgreement(
        bytes32 escrowId,
        uint256 buyerPercent,
        uint256 deadline,
        bytes[2] calldata signatures
    ) external;

    // ------------------------------------------------------------------------------------------
    // Roles
    // ------------------------------------------------------------------------------------------

    /// @notice Proposes a holder of a resolver role, who must accept; the zero address withdraws a proposal. Owner only.
    function transferResolver(ResolvedBy role, address newResolver) external;

    /// @notice Accepts a resolver role, for escrows created from the next second on.
    function acceptResolver(ResolvedBy role) external;

    /// @notice Takes every ruling from a present or former holder. Its escrows are left to the other role, agreement or
    /// timeout: no one else may rule them in its place. Owner only.
    function revokeResolver(ResolvedBy role, address resolver) external;

    /// @notice Suspends rulings; agreement and timeout stay open. Pauser of the escrow contract only.
    function pauseRulings() external;

    /// @notice Allows rulings again. Pauser of the escrow contract only.
    function unpauseRulings() external;

    // ------------------------------------------------------------------------------------------
    // Views
    // ------------------------------------------------------------------------------------------

    /// @notice Who holds a resolver role now, or zero after a revocation.
    function resolverOf(ResolvedBy role) external view returns (address);

    /// @notice The proposed holder of a resolver role, or zero.
    function pendingResolverOf(ResolvedBy role) external view returns (address);

    /// @notice When an address held a resolver role, and whether it was revoked.
    function tenureOf(ResolvedBy role, address resolver) external view returns (ResolverTenure memory);

    /// @notice True while rulings are suspended.
    function rulingsPaused() external view returns (bool);

    /// @notice The escrow contract; only an upgrade changes it.
    function escrowContract() external view returns (address);

    /// @notice The EIP-712 digest that both parties sign for `resolveByAgreement`.
    function agreementDigest(bytes32 escrowId, uint256 buyerPercent, uint256 deadline) external view returns (bytes32);
}
