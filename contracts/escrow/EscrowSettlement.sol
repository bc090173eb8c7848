// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

import {IEscrow} from "../interfaces/IEscrow.sol";
import {IScore} from "../interfaces/IScore.sol";
import {BoundedCall} from "../libraries/BoundedCall.sol";
import {FeeMath} from "../libraries/FeeMath.sol";
import {ProtocolConstants} from "../libraries/ProtocolConstants.sol";
import {DisputeOutcome, EscrowState, ResolutionMethod, ResolvedBy, ScoreOutcome} from "../types/EscrowTypes.sol";
import {PackedDeposit, PackedProgress, StoredEscrow} from "../types/StoredEscrow.sol";
import {EscrowStorage} from "./EscrowStorage.sol";

/// @title Settlement of escrows
/// @notice The four ways out of an escrow, credits and scores. Each pays first and scores then. Neither a token nor the
/// score contract can stop a settlement: what a token does not transfer becomes a credit, what the score contract does
/// not take can be repeated.
abstract contract EscrowSettlement is EscrowStorage, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    /// @dev Why a delivery is paid for.
    enum ReleaseCause {
        Acceptance, // the buyer accepted
        WindowElapsed // nobody disputed in time
    }

    /// @dev How a dispute ends.
    struct Resolution {
        DisputeOutcome outcome;
        uint256 buyerPercent;
        ResolvedBy resolvedBy;
        ResolutionMethod method;
        bytes32 rationaleHash;
    }

    // ------------------------------------------------------------------------------------------
    // Credits and scores
    // ------------------------------------------------------------------------------------------

    /// @inheritdoc IEscrow
    function withdraw(address token) external nonReentrant {
        _withdraw(token, msg.sender);
    }

    /// @inheritdoc IEscrow
    function withdrawTo(address token, address recipient) external nonReentrant {
        // Check:
        if (recipient == address(0) || recipient == address(this)) revert InvalidRecipient(recipient);

        _withdraw(token, recipient);
    }

    /// @inheritdoc IEscrow
    function retryScore(bytes32 escrowId) external nonReentrant {
        EscrowData storage $ = _data();

        // Check:
        uint256 pending = $.pendingScores[escrowId];
        if (pending == 0) revert NoScorePending(escrowId);
        ScoreOutcome outcome = ScoreOutcome(pending - 1);

        // Effect:
        $.pendingScores[escrowId] = 0;
        emit ScoreUpdateRetried(escrowId, outcome);

        // Interaction:
        StoredEscrow storage stored = $.escrows[escrowId];
        IScore(SCORE).recordOutcome(escrowId, stored.deposit.buyerOf(), stored.progress.sellerOf(), outcome);
    }

    /// @inheritdoc IEscrow
    function creditOf(address recipient, address token) external view returns (uint256) {
        return _data().credits[recipient][token];
    }

    // ------------------------------------------------------------------------------------------
    // Ways out. The callers have checked the state, who may do so and when
    // ------------------------------------------------------------------------------------------

    /// @dev Delivered to Released.
    function _release(
        bytes32 escrowId,
        StoredEscrow storage stored,
        PackedProgress progress,
        PackedDeposit deposit,
        ReleaseCause cause
    ) internal {
        (address buyer, address seller) = (deposit.buyerOf(), progress.sellerOf());
        uint256 locked = FeeMath.lockedOf(_amountOf(stored, deposit));

        // Effect:
        stored.progress = progress.withState(EscrowState.Released);
        emit EscrowReleased(escrowId, buyer, seller, locked, cause == ReleaseCause.WindowElapsed);

        // Interaction:
        _payOut(escrowId, _tokenOf(deposit), seller, locked);
        _recordScore(escrowId, buyer, seller, ScoreOutcome.Released);
    }

    /// @dev Funded to Refunded. No score changes.
    function _refund(
        bytes32 escrowId,
        StoredEscrow storage stored,
        PackedProgress progress,
        PackedDeposit deposit
    ) internal {
        (address buyer, address seller) = (deposit.buyerOf(), progress.sellerOf());
        uint256 locked = FeeMath.lockedOf(_amountOf(stored, deposit));

        // Effect:
        stored.progress = progress.withState(EscrowState.Refunded);
        emit EscrowRefunded(escrowId, buyer, seller, locked);

        // Interaction:
        _payOut(escrowId, _tokenOf(deposit), buyer, locked);
    }

    /// @dev Funded to Abandoned.
    function _abandon(
        bytes32 escrowId,
        StoredEscrow storage stored,
        PackedProgress progress,
        PackedDeposit deposit
    ) internal {
        (address buyer, address seller) = (deposit.buyerOf(), progress.sellerOf());
        uint256 locked = FeeMath.lockedOf(_amountOf(stored, deposit));

        // Effect:
        stored.progress = progress.withState(EscrowState.Abandoned);
        emit EscrowAbandoned(escrowId, buyer, seller, locked);

        // Interaction:
        _payOut(escrowId, _tokenOf(deposit), buyer, locked);
        _recordScore(escrowId, buyer, seller, ScoreOutcome.Abandonment);
    }

    /// @dev Disputed to Resolved. `resolution.buyerPercent` is at most 100.
    function _resolve(
        bytes32 escrowId,
        StoredEscrow storage stored,
        PackedProgress progress,
        Resolution memory resolution
    ) internal {
        PackedDeposit deposit = stored.deposit;
        (address buyer, address seller, address token) = (deposit.buyerOf(), progress.sellerOf(), _tokenOf(deposit));
        (uint256 buyerAmount, uint256 sellerAmount) = FeeMath.split(
            FeeMath.lockedOf(_amountOf(stored, deposit)),
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

    // ------------------------------------------------------------------------------------------
    // Payment and score
    // ------------------------------------------------------------------------------------------

    /// @dev Sends tokens to a recipient, or credits them when the token does not let them go.
    function _payOut(bytes32 escrowId, address token, address recipient, uint256 amount) internal {
        if (amount == 0) return;
        if (BoundedCall.tryTransfer(token, recipient, amount, ProtocolConstants.PAYOUT_GAS)) return;
        _data().credits[recipient][token] += amount;
        emit PayoutCredited(escrowId, recipient, token, amount);
    }

    /// @dev Tells the score contract, or keeps the outcome for `retryScore`.
    function _recordScore(bytes32 escrowId, address buyer, address seller, ScoreOutcome outcome) private {
        bytes memory data = abi.encodeCall(IScore.recordOutcome, (escrowId, buyer, seller, outcome));
        if (BoundedCall.tryCall(SCORE, data, ProtocolConstants.SCORE_GAS)) return;
        _data().pendingScores[escrowId] = uint256(outcome) + 1;
        emit ScoreUpdateFailed(escrowId, outcome);
    }

    /// @dev Draws the caller's whole credit in a token.
    function _withdraw(address token, address recipient) private {
        mapping(address token => uint256) storage credits = _data().credits[msg.sender];

        // Check:
        uint256 amount = credits[token];
        if (amount == 0) revert NothingToWithdraw(msg.sender, token);

        // Effect:
        credits[token] = 0;
        emit CreditWithdrawn(msg.sender, token, recipient, amount);

        // Interaction:
        IERC20(token).safeTransfer(recipient, amount);
    }

    function _scoreOutcomeOf(DisputeOutcome outcome) private pure returns (ScoreOutcome) {
        if (outcome == DisputeOutcome.BuyerRefund) return ScoreOutcome.BuyerRefund;
        if (outcome == DisputeOutcome.SellerPaid) return ScoreOutcome.SellerPaid;
        return ScoreOutcome.Split;
    }
}
