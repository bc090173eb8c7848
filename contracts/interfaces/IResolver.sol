// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DisputeOutcome, ResolutionMethod, ResolvedBy} from "../types/EscrowTypes.sol";

/// @title Resolver contract of the agent marketplace
/// @notice The only caller of the escrow contract's resolution: rulings of the AI resolver, rulings of an admin, and
/// settlements that both parties signed (specification sections 2.6 and 3.2).
interface IResolver {
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

    /// @notice Emitted when a resolver role has changed hands.
    event ResolverTransferred(ResolvedBy indexed role, address indexed previous, address indexed current);

    /// @notice Emitted when the escrow contract has changed.
    event EscrowContractSet(address indexed previousEscrow, address indexed newEscrow);

    /// @notice Thrown when the caller does not hold the role.
    error CallerNotResolver(ResolvedBy role, address caller, address resolver);
    /// @notice Thrown when the caller was not proposed for the role.
    error CallerNotPendingResolver(ResolvedBy role, address caller, address pending);
    /// @notice Thrown when percentages do not add to 100 or do not fit the outcome.
    error InvalidPercentages(DisputeOutcome outcome, uint256 buyerPercent, uint256 sellerPercent);
    /// @notice Thrown when a signature does not belong to the party.
    error InvalidSignature(address party);
    /// @notice Thrown when a ruling carries no rationale hash.
    error MissingRationale(bytes32 escrowId);
    /// @notice Thrown when an address must not be zero.
    error InvalidAddress(address account);

    /// @notice The AI resolver rules a dispute. A Split is always 50/50. Holder of the system role only.
    function resolveBySystem(bytes32 escrowId, DisputeOutcome outcome, bytes32 rationaleHash) external;

    /// @notice An admin rules a dispute; a Split needs buyerPercent + sellerPercent = 100. Holder of the admin role only.
    function resolveByAdmin(
        bytes32 escrowId,
        DisputeOutcome outcome,
        uint256 buyerPercent,
        uint256 sellerPercent,
        bytes32 rationaleHash
    ) external;

    /// @notice Both parties end a dispute as Split by their EIP-712 signatures (ERC-1271 wallets too). Anyone may submit.
    /// @param buyerPercent whole percent of the locked funds for the buyer, 0 to 100
    /// @param signatures of the buyer and of the seller, in this order
    function resolveByAgreement(bytes32 escrowId, uint256 buyerPercent, bytes[2] calldata signatures) external;

    /// @notice Proposes a holder of a resolver role, who must accept. Owner only.
    function transferResolver(ResolvedBy role, address newResolver) external;

    /// @notice Accepts a resolver role.
    function acceptResolver(ResolvedBy role) external;

    /// @notice Sets the escrow contract. Owner only.
    function setEscrowContract(address newEscrow) external;

    /// @notice The holder of a resolver role.
    function resolverOf(ResolvedBy role) external view returns (address);

    /// @notice The proposed holder of a resolver role, or zero.
    function pendingResolverOf(ResolvedBy role) external view returns (address);

    /// @notice The escrow contract.
    function escrowContract() external view returns (address);

    /// @notice The EIP-712 digest that both parties sign for `resolveByAgreement`.
    function agreementDigest(bytes32 escrowId, uint256 buyerPercent) external view returns (bytes32);
}
