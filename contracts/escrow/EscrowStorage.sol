// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IEscrow} from "../interfaces/IEscrow.sol";
import {EscrowState, SellerTerms} from "../types/EscrowTypes.sol";
import {PackedProgress, PackedTerms, StoredEscrow} from "../types/StoredEscrow.sol";
import {StoredToken} from "../types/StoredToken.sol";

/// @title Storage of the escrow contract
/// @notice One ERC-7201 struct: fields are appended, never reordered or removed.
abstract contract EscrowStorage is IEscrow {
    /// @custom:storage-location erc7201:marketplace.storage.Escrow
    struct EscrowData {
        // slot 0
        address treasury;
        bool paused;
        // slot 1
        address score;
        // slot 2
        address resolver;
        // slot 3
        address pauser;
        // slot 4
        address pendingPauser;
        // slot 5
        mapping(bytes32 escrowId => StoredEscrow) escrows;
        // slot 6
        mapping(address token => StoredToken) tokens;
        // slot 7
        mapping(address seller => SellerTerms) sellerTerms;
        // slot 8: token units that wait for `withdraw`
        mapping(address recipient => mapping(address token => uint256)) credits;
        // slot 9: outcome + 1 of a score update that failed, 0 for none
        mapping(bytes32 escrowId => uint256) pendingScores;
        // slot 10: every token that was ever listed; open escrows name theirs by its index
        mapping(uint256 index => address) tokenAt;
        // slot 11
        uint256 tokenCount;
    }

    // keccak256(abi.encode(uint256(keccak256("marketplace.storage.Escrow")) - 1)) & ~bytes32(uint256(0xff))
    bytes32 private constant ESCROW_STORAGE_LOCATION =
        0x96c5879cbfbd63a51be880377b7967994a4ebdbf41791ed2976aa04d1f493000;

    function _data() internal pure returns (EscrowData storage $) {
        // The only way to name an ERC-7201 slot.
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            $.slot := ESCROW_STORAGE_LOCATION
        }
    }

    /// @dev The record of an escrow that must be in `required`, with its slot 0.
    function _inState(
        bytes32 escrowId,
        EscrowState required
    ) internal view returns (StoredEscrow storage stored, PackedProgress progress) {
        stored = _data().escrows[escrowId];
        progress = stored.progress;
        EscrowState current = progress.stateOf();
        if (current != required) {
            if (current == EscrowState.None) revert EscrowNotFound(escrowId);
            revert EscrowNotInState(escrowId, current, required);
        }
    }

    /// @dev Gross deposit in token units.
    function _amountOf(StoredEscrow storage stored, PackedTerms terms) internal view returns (uint256 amount) {
        amount = terms.inlineAmountOf();
        if (amount == 0) amount = stored.largeAmount;
    }

    /// @dev The token of an escrow.
    function _tokenOf(PackedTerms terms) internal view returns (address) {
        return _data().tokenAt[terms.tokenIndexOf()];
    }

    /// @dev Last second in which the buyer may accept or dispute; only for an escrow that has a delivery.
    function _windowEnd(PackedProgress progress, PackedTerms terms) internal pure returns (uint256) {
        unchecked {
            return progress.deliveredAtOf() + terms.disputeWindowOf();
        }
    }

    /// @dev Last second in which the seller may decline; from the next one on the buyer may reclaim.
    function _graceEnd(PackedProgress progress, PackedTerms terms) internal pure returns (uint256) {
        unchecked {
            return progress.deadlineOf() + terms.abandonmentGraceOf();
        }
    }
}
