// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {EscrowState} from "../../contracts/types/EscrowTypes.sol";
import {
    ABANDONMENT_GRACE_SHIFT,
    AMOUNT_SHIFT,
    CREATED_AT_SHIFT,
    DELIVERED_AFTER_SHIFT,
    DELIVERY_SECONDS_SHIFT,
    DISPUTED_AFTER_SHIFT,
    DISPUTE_WINDOW_SHIFT,
    FieldOverflow,
    MAX_ABANDONMENT_GRACE,
    MAX_CREATED_AT,
    MAX_DELIVERY_SECONDS,
    MAX_DISPUTE_WINDOW,
    MAX_INLINE_AMOUNT,
    MAX_STATE,
    MAX_TOKEN_INDEX,
    PackedDeposit,
    PackedProgress,
    STATE_SHIFT,
    TOKEN_INDEX_SHIFT,
    packDeposit,
    packProgress,
    readField,
    writeField
} from "../../contracts/types/StoredEscrow.sol";
import {Cheats} from "./support/Cheats.sol";

/// @notice The packing functions behind calls, so that a proof can see them revert.
contract Packer {
    function progress(address seller, uint256 createdAt, uint256 span) external pure returns (PackedProgress) {
        return packProgress(seller, createdAt, span);
    }

    function deposit(
        address buyer,
        uint256 window,
        uint256 grace,
        uint256 index,
        uint256 amount
    ) external pure returns (PackedDeposit) {
        return packDeposit(buyer, window, grace, index, amount);
    }

    function delivery(PackedProgress before, uint256 time) external pure returns (PackedProgress) {
        return before.withDelivery(time);
    }

    function dispute(PackedProgress before, uint256 time) external pure returns (PackedProgress) {
        return before.withDispute(time);
    }

    function field(uint256 word, uint256 shift, uint256 maximum, uint256 value) external pure returns (uint256) {
        return writeField(word, shift, maximum, value);
    }
}

/// @notice Packing loses nothing that fits and refuses what does not fit.
contract PackingProofs is Cheats {
    Packer private packer;

    function setUp() public {
        packer = new Packer();
    }

    function check_progress(address seller, uint256 createdAt, uint256 span) public view {
        bool fits = both(createdAt <= MAX_CREATED_AT, span <= MAX_DELIVERY_SECONDS);
        try packer.progress(seller, createdAt, span) returns (PackedProgress p) {
            bool same = both(p.sellerOf() == seller, _stateOf(p) == uint256(EscrowState.Funded));
            unchecked {
                same = both(same, both(p.createdAtOf() == createdAt, p.deadlineOf() == createdAt + span));
            }
            assert(both(both(fits, same), both(p.deliveredAtOf() == createdAt, p.disputedAtOf() == createdAt)));
        } catch (bytes memory why) {
            assert(both(!fits, bytes4(why) == FieldOverflow.selector));
        }
    }

    function check_deposit(address buyer, uint256 window, uint256 grace, uint256 index, uint256 amount) public view {
        bool fits = both(window <= MAX_DISPUTE_WINDOW, grace <= MAX_ABANDONMENT_GRACE);
        fits = both(fits, index <= MAX_TOKEN_INDEX);
        try packer.deposit(buyer, window, grace, index, amount) returns (PackedDeposit d) {
            bool same = both(d.buyerOf() == buyer, d.disputeWindowOf() == window);
            same = both(same, both(d.abandonmentGraceOf() == grace, d.tokenIndexOf() == index));
            bool kept = d.inlineAmountOf() == choose(amount <= MAX_INLINE_AMOUNT, amount, 0);
            assert(both(fits, both(same, kept)));
        } catch (bytes memory why) {
            assert(both(!fits, bytes4(why) == FieldOverflow.selector));
        }
    }

    function check_withDelivery(uint256 word, uint256 time) public view {
        PackedProgress before = PackedProgress.wrap(word);
        uint256 createdAt = before.createdAtOf();
        // What a Funded escrow is like: no delivery and no dispute in it.
        vm.assume(both(before.deliveredAtOf() == createdAt, before.disputedAtOf() == createdAt));
        bool fits;
        unchecked {
            fits = both(time >= createdAt, time - createdAt <= MAX_DELIVERY_SECONDS);
        }
        try packer.delivery(before, time) returns (PackedProgress p) {
            bool same = both(p.sellerOf() == before.sellerOf(), p.createdAtOf() == createdAt);
            same = both(same, both(p.deadlineOf() == before.deadlineOf(), p.disputedAtOf() == time));
            bool moved = both(_stateOf(p) == uint256(EscrowState.Delivered), p.deliveredAtOf() == time);
            assert(both(fits, both(same, moved)));
        } catch (bytes memory why) {
            assert(both(!fits, bytes4(why) == FieldOverflow.selector));
        }
    }

    function check_withDispute(uint256 word, uint256 time) public view {
        PackedProgress before = PackedProgress.wrap(word);
        uint256 deliveredAt = before.deliveredAtOf();
        // What a Delivered escrow is like: no dispute in it.
        vm.assume(before.disputedAtOf() == deliveredAt);
        bool fits;
        unchecked {
            fits = both(time >= deliveredAt, time - deliveredAt <= MAX_DISPUTE_WINDOW);
        }
        try packer.dispute(before, time) returns (PackedProgress p) {
            bool same = both(p.sellerOf() == before.sellerOf(), p.createdAtOf() == before.createdAtOf());
            same = both(same, both(p.deadlineOf() == before.deadlineOf(), p.deliveredAtOf() == deliveredAt));
            bool moved = both(_stateOf(p) == uint256(EscrowState.Disputed), p.disputedAtOf() == time);
            assert(both(fits, both(same, moved)));
        } catch (bytes memory why) {
            assert(both(!fits, bytes4(why) == FieldOverflow.selector));
        }
    }

    function check_withState(uint256 word, uint8 state) public pure {
        if (state > MAX_STATE) return;
        uint256 after_ = PackedProgress.unwrap(PackedProgress.wrap(word).withState(EscrowState(state)));
        assert(both((after_ >> 160) & 7 == state, (after_ ^ word) & ~(uint256(7) << 160) == 0));
    }

    /// @dev Writing a field that was zero changes nothing else, and refuses what does not fit.
    function check_fields(uint256 word, uint256 value) public view {
        _requireField(word, STATE_SHIFT, MAX_STATE, value);
        _requireField(word, CREATED_AT_SHIFT, MAX_CREATED_AT, value);
        _requireField(word, DELIVERY_SECONDS_SHIFT, MAX_DELIVERY_SECONDS, value);
        _requireField(word, DELIVERED_AFTER_SHIFT, MAX_DELIVERY_SECONDS, value);
        _requireField(word, DISPUTED_AFTER_SHIFT, MAX_DISPUTE_WINDOW, value);
        _requireField(word, DISPUTE_WINDOW_SHIFT, MAX_DISPUTE_WINDOW, value);
        _requireField(word, ABANDONMENT_GRACE_SHIFT, MAX_ABANDONMENT_GRACE, value);
        _requireField(word, TOKEN_INDEX_SHIFT, MAX_TOKEN_INDEX, value);
        _requireField(word, AMOUNT_SHIFT, MAX_INLINE_AMOUNT, value);
    }

    /// @dev Must fail: a field that does not fit is refused.
    function refute_fieldTakesAnything(uint256 word, uint256 value) public view {
        (bool ok, ) = address(packer).staticcall(
            abi.encodeCall(Packer.field, (word, ABANDONMENT_GRACE_SHIFT, MAX_ABANDONMENT_GRACE, value))
        );
        assert(ok);
    }

    function _requireField(uint256 any, uint256 shift, uint256 maximum, uint256 value) private view {
        uint256 word = any & ~(maximum << shift);
        try packer.field(word, shift, maximum, value) returns (uint256 written) {
            bool others = (written ^ word) & ~(maximum << shift) == 0;
            assert(both(value <= maximum, both(readField(written, shift, maximum) == value, others)));
        } catch (bytes memory why) {
            assert(both(value > maximum, bytes4(why) == FieldOverflow.selector));
        }
    }

    function _stateOf(PackedProgress progress) private pure returns (uint256) {
        return (PackedProgress.unwrap(progress) >> 160) & 7;
    }
}
