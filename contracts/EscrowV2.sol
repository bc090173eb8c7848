// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {EscrowAdministration} from "./escrow/EscrowAdministration.sol";
import {EscrowCreation} from "./escrow/EscrowCreation.sol";
import {EscrowViews} from "./escrow/EscrowViews.sol";
import {IEscrow} from "./interfaces/IEscrow.sol";
import {FeeMath} from "./libraries/FeeMath.sol";
import {ProtocolConstants} from "./libraries/ProtocolConstants.sol";
import {
    DisputeOutcome,
    EscrowState,
    ResolutionMethod,
    ResolvedBy,
    ScoreOutcome,
    TokenListing
} from "./types/EscrowTypes.sol";
import {PackedProgress, PackedTerms, StoredEscrow} from "./types/StoredEscrow.sol";

/// @title Escrow contract, second generation
/// @notice Holds the deposit of each job until it settles. `escrow/` has its parts: creation, settlement,
/// administration, views and storage; the moves of an open escrow are here.
contract EscrowV2 is EscrowCreation, EscrowAdministration, EscrowViews {
    /// @custom:oz-upgrades-unsafe-allow constructor
    constructor() {
        _disableInitializers();
    }

    /// @notice Sets the contract up; once per proxy.
    /// @param owner who may upgrade, list tokens and set addresses
    /// @param initialTreasury who receives the fees
    /// @param initialPauser who may stop new escrows
    /// @param score the score contract
    /// @param resolver the resolver contract
    /// @param tokens the tokens that new escrows may use
    function initialize(
        address owner,
        address initialTreasury,
        address initialPauser,
        address score,
        address resolver,
        TokenListing[] calldata tokens
    ) external initializer {
        _initializeAdministration(owner, initialTreasury, initialPauser, score, resolver, tokens);
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
        PackedTerms terms = stored.terms;
        _requireBuyer(terms);
        uint256 graceEnd = _graceEnd(progress, terms);
        if (block.timestamp <= graceEnd) revert AbandonmentGraceOpen(block.timestamp, graceEnd);

        // Effect:
        address seller = progress.sellerOf();
        uint256 locked = FeeMath.lockedOf(_amountOf(stored, terms));
        stored.progress = progress.withState(EscrowState.Abandoned);
        emit EscrowAbandoned(escrowId, msg.sender, seller, locked);

        // Interaction:
        _payOut(escrowId, _tokenOf(terms), msg.sender, locked);
        _recordScore(escrowId, msg.sender, seller, ScoreOutcome.Abandonment);
    }

    /// @inheritdoc IEscrow
    function refund(bytes32 escrowId) external nonReentrant {
        _refund(escrowId);
    }

    /// @inheritdoc IEscrow
    function refundMany(bytes32[] calldata escrowIds) external nonReentrant {
        for (uint256 i = 0; i < escrowIds.length; ++i) {
            _refund(escrowIds[i]);
        }
    }

    // ------------------------------------------------------------------------------------------
    // Delivered
    // ------------------------------------------------------------------------------------------

    /// @inheritdoc IEscrow
    function accept(bytes32 escrowId) external nonReentrant {
        // Check:
        (StoredEscrow storage stored, PackedProgress progress) = _inState(escrowId, EscrowState.Delivered);
        PackedTerms terms = stored.terms;
        _requireBuyer(terms);
        _requireWindowOpen(progress, terms);

        _release(escrowId, stored, progress, terms, false);
    }

    /// @inheritdoc IEscrow
    function finalize(bytes32 escrowId) external nonReentrant {
        // Check:
        (StoredEscrow storage stored, PackedProgress progress) = _inState(escrowId, EscrowState.Delivered);
        PackedTerms terms = stored.terms;
        uint256 windowEnd = _windowEnd(progress, terms);
        if (block.timestamp <= windowEnd) revert DisputeWindowOpen(block.timestamp, windowEnd);

        _release(escrowId, stored, progress, terms, true);
    }

    /// @inheritdoc IEscrow
    function openDispute(bytes32 escrowId) external {
        // Check:
        (StoredEscrow storage stored, PackedProgress progress) = _inState(escrowId, EscrowState.Delivered);
        PackedTerms terms = stored.terms;
        _requireBuyer(terms);
        _requireWindowOpen(progress, terms);

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
        address resolver = _data().resolver;
        if (msg.sender != resolver) revert CallerNotResolver(msg.sender, resolver);
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

    /// @dev How a dispute ends.
    struct Resolution {
        DisputeOutcome outcome;
        uint256 buyerPercent;
        ResolvedBy resolvedBy;
        ResolutionMethod method;
        bytes32 rationaleHash;
    }

    function _refund(bytes32 escrowId) private {
        // Check:
        (StoredEscrow storage stored, PackedProgress progress) = _inState(escrowId, EscrowState.Funded);
        _requireSeller(progress);
        PackedTerms terms = stored.terms;
        uint256 graceEnd = _graceEnd(progress, terms);
        if (block.timestamp > graceEnd) revert AbandonmentGraceElapsed(block.timestamp, graceEnd);

        // Effect:
        address buyer = terms.buyerOf();
        uint256 locked = FeeMath.lockedOf(_amountOf(stored, terms));
        stored.progress = progress.withState(EscrowState.Refunded);
        emit EscrowRefunded(escrowId, buyer, msg.sender, locked);

        // Interaction:
        _payOut(escrowId, _tokenOf(terms), buyer, locked);
    }

    function _resolve(
        bytes32 escrowId,
        StoredEscrow storage stored,
        PackedProgress progress,
        Resolution memory resolution
    ) private {
        PackedTerms terms = stored.terms;
        (address buyer, address seller, address token) = (terms.buyerOf(), progress.sellerOf(), _tokenOf(terms));
        (uint256 buyerAmount, uint256 sellerAmount) = FeeMath.split(
            FeeMath.lockedOf(_amountOf(stored, terms)),
            resolution.buyerPercent
        );

        // Effect:
        stored.progress = progress.withState(EscrowState.Resolved);
        emit EscrowResolved(
            escrowId,
            buyer,
            seller,
            resolution.outcome,
            buyerAmount,
            sellerAmount,
            resolution.buyerPercent,
            resolution.resolvedBy,
            resolution.method,
            resolution.rationaleHash
        );

        // Interaction:
        _payOut(escrowId, token, buyer, buyerAmount);
        _payOut(escrowId, token, seller, sellerAmount);
        _recordScore(escrowId, buyer, seller, _scoreOutcomeOf(resolution.outcome));
    }

    function _requireBuyer(PackedTerms terms) private view {
        address buyer = terms.buyerOf();
        if (msg.sender != buyer) revert CallerNotBuyer(msg.sender, buyer);
    }

    function _requireSeller(PackedProgress progress) private view {
        address seller = progress.sellerOf();
        if (msg.sender != seller) revert CallerNotSeller(msg.sender, seller);
    }

    function _requireWindowOpen(PackedProgress progress, PackedTerms terms) private view {
        uint256 windowEnd = _windowEnd(progress, terms);
        if (block.timestamp > windowEnd) revert DisputeWindowElapsed(block.timestamp, windowEnd);
    }

    function _percentagesFit(
        DisputeOutcome outcome,
        uint256 buyerPercent,
        uint256 sellerPercent
    ) private pure returns (bool) {
        if (outcome == DisputeOutcome.BuyerRefund) return buyerPercent == 100 && sellerPercent == 0;
        if (outcome == DisputeOutcome.SellerPaid) return buyerPercent == 0 && sellerPercent == 100;
        return buyerPercent <= 100 && sellerPercent == 100 - buyerPercent;
    }

    function _scoreOutcomeOf(DisputeOutcome outcome) private pure returns (ScoreOutcome) {
        if (outcome == DisputeOutcome.BuyerRefund) return ScoreOutcome.BuyerRefund;
        if (outcome == DisputeOutcome.SellerPaid) return ScoreOutcome.SellerPaid;
        return ScoreOutcome.Split;
    }
}
