// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IEscrow} from "../interfaces/IEscrow.sol";
import {EscrowState, SellerTerms} from "../types/EscrowTypes.sol";
import {PackedDeposit, PackedProgress, StoredEscrow} from "../types/StoredEscrow.sol";
import {StoredToken} from "../types/StoredToken.sol";

/// @title Storage of the escrow contract
/// @notice One ERC-7201 struct, whose fields are appended, never reordered or removed, and the immutables of the
/// implementation: what no role can change, short of an upgrade.
abstract contract EscrowStorage is IEscrow {
    /// @custom:storage-location erc7201:marketplace.storage.Escrow
    struct EscrowData {
        // slot 0
        address treasury;
        bool paused;
        // `tokens[MAIN_TOKEN].minAmount` while the main token has 6 decimals and no feed, else 0: the most frequent
        // creation reads this slot only.
        uint56 mainTokenMinAmount;
        // slot 1
        address pauser;
        // slot 2
        address pendingPauser;
        // slot 3
        mapping(bytes32 escrowId => StoredEscrow) escrows;
        // slot 4
        mapping(address token => StoredToken) tokens;
        // slot 5
        mapping(address seller => SellerTerms) sellerTerms;
        // slot 6: token units that wait for `withdraw`
        mapping(address recipient => mapping(address token => uint256)) credits;
        // slot 7: outcome + 1 of a score update that failed, 0 for none
        mapping(bytes32 escrowId => uint256) pendingScores;
        // slot 8: every token that was ever listed; open escrows name theirs by its index
        mapping(uint256 index => address) tokenAt;
        // slot 9
        uint256 tokenCount;
    }

    // keccak256(abi.encode(uint256(keccak256("marketplace.storage.Escrow")) - 1)) & ~bytes32(uint256(0xff))
    bytes32 private constant ESCROW_STORAGE_LOCATION =
        0x96c5879cbfbd63a51be880377b7967994a4ebdbf41791ed2976aa04d1f493000;

    /// @dev The index of the main token, which is the first one listed.
    uint256 internal constant MAIN_TOKEN_INDEX = 1;

    /// @dev The proxies of the score and the resolver contract, and the token that most jobs are paid in.
    /// @custom:oz-upgrades-unsafe-allow state-variable-immutable
    address internal immutable SCORE;
    /// @custom:oz-upgrades-unsafe-allow state-variable-immutable
    address internal immutable RESOLVER;
    /// @custom:oz-upgrades-unsafe-allow state-variable-immutable
    address internal immutable MAIN_TOKEN;

    /// @custom:oz-upgrades-unsafe-allow constructor
    constructor(address score, address resolver, address main) {
        SCORE = score;
        RESOLVER = resolver;
        MAIN_TOKEN = main;
    }

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
    function _amountOf(StoredEscrow storage stored, PackedDeposit deposit) internal view returns (uint256 amount) {
        amount = deposit.inlineAmountOf();
        if (amount == 0) amount = stored.largeAmount;
    }

    /// @dev The token of an escrow. The main token costs no read of the list.
    function _tokenOf(PackedDeposit deposit) internal view returns (address) {
        uint256 index = deposit.tokenIndexOf();
        return index == MAIN_TOKEN_INDEX ? MAIN_TOKEN : _data().tokenAt[index];
    }

    /// @dev Last second in which the buyer may accept or dispute; only for an escrow that has a delivery.
    function _windowEnd(PackedProgress progress, PackedDeposit deposit) internal pure returns (uint256) {
        unchecked {
            return progress.deliveredAtOf() + deposit.disputeWindowOf();
        }
    }

    /// @dev Last second in which the seller may decline; from the next one on the buyer may reclaim.
    function _graceEnd(PackedProgress progress, PackedDeposit deposit) internal pure returns (uint256) {
        unchecked {
            return progress.deadlineOf() + deposit.abandonmentGraceOf();
        }
    }
}
