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
import {EscrowState, ScoreOutcome} from "../types/EscrowTypes.sol";
import {PackedProgress, PackedTerms, StoredEscrow} from "../types/StoredEscrow.sol";
import {EscrowStorage} from "./EscrowStorage.sol";

/// @title Settlement of escrows
/// @notice Pays first and scores then. Neither a token nor the score contract can stop a settlement: what a token does
/// not transfer becomes a credit, what the score contract does not take can be repeated.
abstract contract EscrowSettlement is EscrowStorage, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    /// @inheritdoc IEscrow
    function withdraw(address token) external nonReentrant {
        mapping(address token => uint256) storage credits = _data().credits[msg.sender];

        // Check:
        uint256 amount = credits[token];
        if (amount == 0) revert NothingToWithdraw(msg.sender, token);

        // Effect:
        credits[token] = 0;
        emit CreditWithdrawn(msg.sender, token, amount);

        // Interaction:
        IERC20(token).safeTransfer(msg.sender, amount);
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
        IScore($.score).recordOutcome(escrowId, stored.terms.buyerOf(), stored.progress.sellerOf(), outcome);
    }

    /// @inheritdoc IEscrow
    function creditOf(address recipient, address token) external view returns (uint256) {
        return _data().credits[recipient][token];
    }

    /// @dev Delivered to Released. The caller has checked who may do so and when.
    function _release(
        bytes32 escrowId,
        StoredEscrow storage stored,
        PackedProgress progress,
        PackedTerms terms,
        bool automatic
    ) internal {
        (address buyer, address seller) = (terms.buyerOf(), progress.sellerOf());
        uint256 locked = FeeMath.lockedOf(_amountOf(stored, terms));

        // Effect:
        stored.progress = progress.withState(EscrowState.Released);
        emit EscrowReleased(escrowId, buyer, seller, locked, automatic);

        // Interaction:
        _payOut(escrowId, _tokenOf(terms), seller, locked);
        _recordScore(escrowId, buyer, seller, ScoreOutcome.Released);
    }

    /// @dev Sends tokens to a recipient, or credits them when the token does not let them go.
    function _payOut(bytes32 escrowId, address token, address recipient, uint256 amount) internal {
        if (amount == 0) return;
        if (BoundedCall.tryTransfer(token, recipient, amount, ProtocolConstants.PAYOUT_GAS)) return;
        _data().credits[recipient][token] += amount;
        emit PayoutCredited(escrowId, recipient, token, amount);
    }

    /// @dev Tells the score contract, or keeps the outcome for `retryScore`.
    function _recordScore(bytes32 escrowId, address buyer, address seller, ScoreOutcome outcome) internal {
        EscrowData storage $ = _data();
        bytes memory data = abi.encodeCall(IScore.recordOutcome, (escrowId, buyer, seller, outcome));
        if (BoundedCall.tryCall($.score, data, ProtocolConstants.SCORE_GAS)) return;
        $.pendingScores[escrowId] = uint256(outcome) + 1;
        emit ScoreUpdateFailed(escrowId, outcome);
    }
}
