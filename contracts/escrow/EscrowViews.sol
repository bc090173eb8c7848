// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IEscrow} from "../interfaces/IEscrow.sol";
import {FeeMath} from "../libraries/FeeMath.sol";
import {ProtocolConstants} from "../libraries/ProtocolConstants.sol";
import {Escrow, EscrowAction, EscrowState, OpenAction, StoredEscrow} from "../types/EscrowTypes.sol";
import {EscrowStorage} from "./EscrowStorage.sol";

/// @title Views of escrows
abstract contract EscrowViews is EscrowStorage {
    uint256 private constant NEVER_CLOSES = type(uint256).max;

    /// @inheritdoc IEscrow
    function getEscrow(bytes32 escrowId) external view returns (Escrow memory escrow) {
        StoredEscrow storage stored = _data().escrows[escrowId];
        EscrowState state = stored.state;
        if (state == EscrowState.None) return escrow;
        escrow = Escrow({
            buyer: stored.buyer,
            seller: stored.seller,
            token: stored.token,
            amount: stored.amount,
            fee: FeeMath.feeOf(stored.amount),
            locked: FeeMath.lockedOf(stored.amount),
            state: state,
            createdAt: uint256(stored.deadline) - stored.deliverySeconds,
            deadline: stored.deadline,
            deliveredAt: _hasDelivery(state) ? _deliveredAt(stored) : 0,
            disputedAt: _hasDispute(state) ? _disputedAt(stored) : 0,
            disputeWindow: stored.disputeWindow,
            abandonmentGrace: stored.abandonmentGrace,
            criteriaHash: stored.criteriaHash
        });
    }

    /// @inheritdoc IEscrow
    function nextActions(bytes32 escrowId) external view returns (OpenAction[] memory) {
        EscrowData storage $ = _data();
        StoredEscrow storage stored = $.escrows[escrowId];
        EscrowState state = stored.state;
        if (state == EscrowState.Funded) return _actionsOfFunded(stored);
        if (state == EscrowState.Delivered) return _actionsOfDelivered(stored);
        if (state == EscrowState.Disputed) return _actionsOfDisputed(stored, $.resolver);
        if ($.pendingScores[escrowId] == 0) return new OpenAction[](0);
        OpenAction[] memory retry = new OpenAction[](1);
        retry[0] = OpenAction(EscrowAction.RetryScore, address(0), 0, NEVER_CLOSES);
        return retry;
    }

    function _actionsOfFunded(StoredEscrow storage stored) private view returns (OpenAction[] memory) {
        uint256 createdAt = uint256(stored.deadline) - stored.deliverySeconds;
        uint256 graceEnd = _graceEnd(stored);
        OpenAction[] memory actions = new OpenAction[](3);
        actions[0] = OpenAction(EscrowAction.SubmitDelivery, stored.seller, createdAt, stored.deadline);
        actions[1] = OpenAction(EscrowAction.Refund, stored.seller, createdAt, graceEnd);
        actions[2] = OpenAction(EscrowAction.ClaimAbandoned, stored.buyer, graceEnd + 1, NEVER_CLOSES);
        return _notClosed(actions);
    }

    function _actionsOfDelivered(StoredEscrow storage stored) private view returns (OpenAction[] memory) {
        uint256 deliveredAt = _deliveredAt(stored);
        uint256 windowEnd = _windowEnd(stored);
        OpenAction[] memory actions = new OpenAction[](3);
        actions[0] = OpenAction(EscrowAction.Accept, stored.buyer, deliveredAt, windowEnd);
        actions[1] = OpenAction(EscrowAction.OpenDispute, stored.buyer, deliveredAt, windowEnd);
        actions[2] = OpenAction(EscrowAction.Finalize, address(0), windowEnd + 1, NEVER_CLOSES);
        return _notClosed(actions);
    }

    function _actionsOfDisputed(
        StoredEscrow storage stored,
        address resolver
    ) private view returns (OpenAction[] memory actions) {
        uint256 disputedAt = _disputedAt(stored);
        uint256 expiresAt = disputedAt + ProtocolConstants.RESOLUTION_TIMEOUT_SECONDS;
        actions = new OpenAction[](2);
        actions[0] = OpenAction(EscrowAction.Resolve, resolver, disputedAt, NEVER_CLOSES);
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
