// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IEscrow} from "../interfaces/IEscrow.sol";
import {FeeMath} from "../libraries/FeeMath.sol";
import {ProtocolConstants} from "../libraries/ProtocolConstants.sol";
import {Escrow, EscrowAction, EscrowState, OpenAction} from "../types/EscrowTypes.sol";
import {PackedDeposit, PackedProgress, StoredEscrow} from "../types/StoredEscrow.sol";
import {EscrowStorage} from "./EscrowStorage.sol";

/// @title Views of escrows
abstract contract EscrowViews is EscrowStorage {
    uint256 private constant NEVER_CLOSES = type(uint256).max;

    /// @inheritdoc IEscrow
    function getEscrow(bytes32 escrowId) external view returns (Escrow memory escrow) {
        StoredEscrow storage stored = _data().escrows[escrowId];
        (PackedProgress progress, PackedDeposit deposit) = (stored.progress, stored.deposit);
        EscrowState state = progress.stateOf();
        if (state == EscrowState.None) return escrow;
        uint256 amount = _amountOf(stored, deposit);
        escrow = Escrow({
            buyer: deposit.buyerOf(),
            seller: progress.sellerOf(),
            token: _tokenOf(deposit),
            amount: amount,
            fee: FeeMath.feeOf(amount),
            locked: FeeMath.lockedOf(amount),
            state: state,
            createdAt: progress.createdAtOf(),
            deadline: progress.deadlineOf(),
            deliveredAt: _hasDelivery(state) ? progress.deliveredAtOf() : 0,
            disputedAt: _hasDispute(state) ? progress.disputedAtOf() : 0,
            disputeWindow: deposit.disputeWindowOf(),
            abandonmentGrace: deposit.abandonmentGraceOf(),
            criteriaHash: stored.criteriaHash
        });
    }

    /// @inheritdoc IEscrow
    function nextActions(bytes32 escrowId) external view returns (OpenAction[] memory) {
        EscrowData storage $ = _data();
        StoredEscrow storage stored = $.escrows[escrowId];
        (PackedProgress progress, PackedDeposit deposit) = (stored.progress, stored.deposit);
        EscrowState state = progress.stateOf();
        if (state == EscrowState.Funded) return _actionsOfFunded(progress, deposit);
        if (state == EscrowState.Delivered) return _actionsOfDelivered(progress, deposit);
        if (state == EscrowState.Disputed) return _actionsOfDisputed(progress);
        if ($.pendingScores[escrowId] == 0) return new OpenAction[](0);
        OpenAction[] memory retry = new OpenAction[](1);
        retry[0] = OpenAction(EscrowAction.RetryScore, address(0), 0, NEVER_CLOSES);
        return retry;
    }

    function _actionsOfFunded(
        PackedProgress progress,
        PackedDeposit deposit
    ) private view returns (OpenAction[] memory) {
        uint256 createdAt = progress.createdAtOf();
        uint256 graceEnd = _graceEnd(progress, deposit);
        OpenAction[] memory actions = new OpenAction[](3);
        actions[0] = OpenAction(EscrowAction.SubmitDelivery, progress.sellerOf(), createdAt, progress.deadlineOf());
        actions[1] = OpenAction(EscrowAction.Refund, progress.sellerOf(), createdAt, graceEnd);
        actions[2] = OpenAction(EscrowAction.ClaimAbandoned, deposit.buyerOf(), graceEnd + 1, NEVER_CLOSES);
        return _notClosed(actions);
    }

    function _actionsOfDelivered(
        PackedProgress progress,
        PackedDeposit deposit
    ) private view returns (OpenAction[] memory) {
        uint256 deliveredAt = progress.deliveredAtOf();
        uint256 windowEnd = _windowEnd(progress, deposit);
        OpenAction[] memory actions = new OpenAction[](3);
        actions[0] = OpenAction(EscrowAction.Accept, deposit.buyerOf(), deliveredAt, windowEnd);
        actions[1] = OpenAction(EscrowAction.OpenDispute, deposit.buyerOf(), deliveredAt, windowEnd);
        actions[2] = OpenAction(EscrowAction.Finalize, address(0), windowEnd + 1, NEVER_CLOSES);
        return _notClosed(actions);
    }

    function _actionsOfDisputed(PackedProgress progress) private view returns (OpenAction[] memory actions) {
        uint256 disputedAt = progress.disputedAtOf();
        uint256 expiresAt = disputedAt + ProtocolConstants.RESOLUTION_TIMEOUT_SECONDS;
        actions = new OpenAction[](2);
        actions[0] = OpenAction(EscrowAction.Resolve, RESOLVER, disputedAt, NEVER_CLOSES);
        actions[1] = OpenAction(EscrowAction.ResolveExpired, address(0), expiresAt + 1, NEVER_CLOSES);
    }

    /// @dev Leaves out the moves whose last second has passed.
    function _notClosed(OpenAction[] memory actions) private view returns (OpenAction[] memory open) {
        uint256 count = 0;
        for (uint256 i = 0; i < actions.length; ++i) {
            if (block.timestamp <= actions[i].closesAt) ++count;
        }
        open = new OpenAction[](count);
        uint256 next = 0;
        for (uint256 i = 0; i < actions.length; ++i) {
            if (block.timestamp <= actions[i].closesAt) open[next++] = actions[i];
        }
    }

    /// @dev An escrow ends as Refunded or Abandoned only from Funded, as Released or Resolved only after a delivery.
    function _hasDelivery(EscrowState state) private pure returns (bool) {
        return state == EscrowState.Delivered || state == EscrowState.Released || _hasDispute(state);
    }

    function _hasDispute(EscrowState state) private pure returns (bool) {
        return state == EscrowState.Disputed || state == EscrowState.Resolved;
    }
}
