// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {EscrowAdministration} from "./escrow/EscrowAdministration.sol";
import {EscrowCreation} from "./escrow/EscrowCreation.sol";
import {EscrowStorage} from "./escrow/EscrowStorage.sol";
import {EscrowViews} from "./escrow/EscrowViews.sol";
import {IEscrow} from "./interfaces/IEscrow.sol";
import {ProtocolConstants} from "./libraries/ProtocolConstants.sol";
import {DisputeOutcome, EscrowState, ResolutionMethod, ResolvedBy, TokenListing} from "./types/EscrowTypes.sol";
import {PackedDeposit, PackedProgress, StoredEscrow} from "./types/StoredEscrow.sol";

/// @title Escrow contract, second generation
/// @notice Holds the deposit of each job until it settles. Here each move of an open escrow checks who makes it and
/// when; `escrow/` has the rest: creation, settlement, administration, views and storage.
contract EscrowV2 is EscrowCreation, EscrowAdministration, EscrowViews {
    /// @param score proxy of the score contract; it need not exist yet
    /// @param resolver proxy of the resolver contract; it need not exist yet
    /// @param main the token that most jobs are paid in, listed first
    /// @custom:oz-upgrades-unsafe-allow constructor
    constructor(address score, address resolver, address main) EscrowStorage(score, resolver, main) {
        _disableInitializers();
    }

    /// @notice Sets the contract up; once per proxy.
    /// @param owner who may upgrade, list tokens, set the treasury and propose a pauser
    /// @param initialTreasury who receives the fees
    /// @param initialPauser who may stop new escrows and suspend rulings
    /// @param tokens the tokens that new escrows may use, the main token first
    function initialize(
        address owner,
        address initialTreasury,
        address initialPauser,
        TokenListing[] calldata tokens
    ) external initializer {
        _initializeAdministration(owner, initialTreasury, initialPauser, tokens);
    }

    // ------------------------------------------------------------------------------------------
    // Funded
    // ------------------------------------------------------------------------------------------

    /// @inheritdoc IEscrow
    function submitDelivery(bytes32 escrowId, bytes32 proofHash) external {
        // Check:
        (StoredEscrow storage stored, PackedProgress progress) = _inState(escrowId, EscrowState.Funded);
        _requireSeller(progress);
        uint256 deadline = progress.deadlineOf();
        if (block.timestamp > deadline) revert DeadlinePassed(block.timestamp, deadline);

        // Effect:
        stored.progress = progress.withDelivery(block.timestamp);
        emit DeliverySubmitted(escrowId, msg.sender, proofHash);
    }

    /// @inheritdoc IEscrow
    function claimAbandoned(bytes32 escrowId) external nonReentrant {
        // Check:
        (StoredEscrow storage stored, PackedProgress progress) = _inState(escrowId, EscrowState.Funded);
        PackedDeposit deposit = stored.deposit;
        _requireBuyer(deposit);
        uint256 graceEnd = _graceEnd(progress, deposit);
        if (block.timestamp <= graceEnd) revert AbandonmentGraceOpen(block.timestamp, graceEnd);

        _abandon(escrowId, stored, progress, deposit);
    }

    /// @inheritdoc IEscrow
    function refund(bytes32 escrowId) external nonReentrant {
        _decline(escrowId);
    }

    /// @inheritdoc IEscrow
    function refundMany(bytes32[] calldata escrowIds) external nonReentrant {
        for (uint256 i = 0; i < escrowIds.length; ++i) {
            _decline(escrowIds[i]);
        }
    }

    // ------------------------------------------------------------------------------------------
    // Delivered
    // ------------------------------------------------------------------------------------------

    /// @inheritdoc IEscrow
    function accept(bytes32 escrowId) external nonReentrant {
        // Check:
        (StoredEscrow storage stored, PackedProgress progress) = _inState(escrowId, EscrowState.Delivered);
        PackedDeposit deposit = stored.deposit;
        _requireBuyer(deposit);
        _requireWindowOpen(progress, deposit);

        _release(escrowId, stored, progress, deposit, ReleaseCause.Acceptance);
    }

    /// @inheritdoc IEscrow
    function finalize(bytes32 escrowId) external nonReentrant {
        // Check:
        (StoredEscrow storage stored, PackedProgress progress) = _inState(escrowId, EscrowState.Delivered);
        PackedDeposit deposit = stored.deposit;
        uint256 windowEnd = _windowEnd(progress, deposit);
        if (block.timestamp <= windowEnd) revert DisputeWindowOpen(block.timestamp, windowEnd);

        _release(escrowId, stored, progress, deposit, ReleaseCause.WindowElapsed);
    }

    /// @inheritdoc IEscrow
    function openDispute(bytes32 escrowId) external {
        // Check:
        (StoredEscrow storage stored, PackedProgress progress) = _inState(escrowId, EscrowState.Delivered);
        PackedDeposit deposit = stored.deposit;
        _requireBuyer(deposit);
        _requireWindowOpen(progress, deposit);

        // Effect:
        stored.progress = progress.withDispute(block.timestamp);
        emit DisputeOpened(escrowId, msg.sender, progress.sellerOf());
    }

    // ------------------------------------------------------------------------------------------
    // Disputed
    // ------------------------------------------------------------------------------------------

    /// @inheritdoc IEscrow
    function resolve(
        bytes32 escrowId,
        DisputeOutcome outcome,
        uint256 buyerPercent,
        uint256 sellerPercent,
        ResolvedBy resolvedBy,
        ResolutionMethod resolutionMethod,
        bytes32 rationaleHash
    ) external nonReentrant {
        // Check:
        (StoredEscrow storage stored, PackedProgress progress) = _inState(escrowId, EscrowState.Disputed);
        if (msg.sender != RESOLVER) revert CallerNotResolverContract(msg.sender, RESOLVER);
        if (!_percentagesFit(outcome, buyerPercent, sellerPercent)) {
            revert InvalidPercentages(outcome, buyerPercent, sellerPercent);
        }

        _resolve(
            escrowId,
            stored,
            progress,
            Resolution(outcome, buyerPercent, resolvedBy, resolutionMethod, rationaleHash)
        );
    }

    /// @inheritdoc IEscrow
    function resolveExpired(bytes32 escrowId) external nonReentrant {
        // Check:
        (StoredEscrow storage stored, PackedProgress progress) = _inState(escrowId, EscrowState.Disputed);
        uint256 expiresAt = progress.disputedAtOf() + ProtocolConstants.RESOLUTION_TIMEOUT_SECONDS;
        if (block.timestamp <= expiresAt) revert ResolutionNotExpired(block.timestamp, expiresAt);

        _resolve(
            escrowId,
            stored,
            progress,
            Resolution(DisputeOutcome.Split, 50, ResolvedBy.System, ResolutionMethod.Timeout, bytes32(0))
        );
    }

    // ------------------------------------------------------------------------------------------
    // Internal
    // ------------------------------------------------------------------------------------------

    function _decline(bytes32 escrowId) private {
        // Check:
        (StoredEscrow storage stored, PackedProgress progress) = _inState(escrowId, EscrowState.Funded);
        _requireSeller(progress);
        PackedDeposit deposit = stored.deposit;
        uint256 graceEnd = _graceEnd(progress, deposit);
        if (block.timestamp > graceEnd) revert AbandonmentGraceElapsed(block.timestamp, graceEnd);

        _refund(escrowId, stored, progress, deposit);
    }

    function _requireBuyer(PackedDeposit deposit) private view {
        address buyer = deposit.buyerOf();
        if (msg.sender != buyer) revert CallerNotBuyer(msg.sender, buyer);
    }

    function _requireSeller(PackedProgress progress) private view {
        address seller = progress.sellerOf();
        if (msg.sender != seller) revert CallerNotSeller(msg.sender, seller);
    }

    function _requireWindowOpen(PackedProgress progress, PackedDeposit deposit) private view {
        uint256 windowEnd = _windowEnd(progress, deposit);
        if (block.timestamp > windowEnd) revert DisputeWindowElapsed(block.timestamp, windowEnd);
    }

    /// @dev The only place that knows which percentages an outcome allows; the resolver contract relies on it.
    function _percentagesFit(
        DisputeOutcome outcome,
        uint256 buyerPercent,
        uint256 sellerPercent
    ) private pure returns (bool) {
        if (outcome == DisputeOutcome.BuyerRefund) return buyerPercent == 100 && sellerPercent == 0;
        if (outcome == DisputeOutcome.SellerPaid) return buyerPercent == 0 && sellerPercent == 100;
        return buyerPercent <= 100 && sellerPercent == 100 - buyerPercent;
    }
}
