// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IEscrow} from "../../contracts/interfaces/IEscrow.sol";
import {EscrowState} from "../../contracts/types/EscrowTypes.sol";
import {PackedProgress} from "../../contracts/types/StoredEscrow.sol";
import {World} from "./support/World.sol";

/// @notice Each move of an escrow that is not disputed, from any stored state, by any caller, at any time: it succeeds for
/// its caller in its time and else fails, leads where the table says and pays exactly what it should.
contract MoveProofs is World {
    function check_submitDelivery() public {
        Seen memory s = _anyEscrow();
        bytes32 proofHash = svm.createBytes32("proofHash");
        (bool ok, bytes4 why) = _call(s.caller, ESCROW, abi.encodeCall(IEscrow.submitDelivery, (s.id, proofHash)));
        bool allowed = both(_is(s, EscrowState.Funded), both(s.caller == s.seller, s.time <= s.deadline));
        if (!ok) return _requireNotAllowed(allowed, why);
        PackedProgress progress = PackedProgress.wrap(_word(s.id, 0));
        bool moved = both(progress.deliveredAtOf() == s.time, progress.disputedAtOf() == s.time);
        assert(both(both(allowed, moved), both(_hasTimed(s, EscrowState.Delivered), _hasPaid(s, 0, 0))));
    }

    function check_accept() public {
        Seen memory s = _anyEscrow();
        (bool ok, bytes4 why) = _call(s.caller, ESCROW, abi.encodeCall(IEscrow.accept, (s.id)));
        bool allowed = both(_is(s, EscrowState.Delivered), both(s.caller == s.buyer, s.time <= s.windowEnd));
        if (!ok) return _requireNotAllowed(allowed, why);
        assert(both(allowed, both(_hasMoved(s, EscrowState.Released), _hasPaid(s, 0, s.locked))));
    }

    function check_finalize() public {
        Seen memory s = _anyEscrow();
        (bool ok, bytes4 why) = _call(s.caller, ESCROW, abi.encodeCall(IEscrow.finalize, (s.id)));
        bool allowed = both(_is(s, EscrowState.Delivered), s.time > s.windowEnd);
        if (!ok) return _requireNotAllowed(allowed, why);
        assert(both(allowed, both(_hasMoved(s, EscrowState.Released), _hasPaid(s, 0, s.locked))));
    }

    function check_claimAbandoned() public {
        Seen memory s = _anyEscrow();
        (bool ok, bytes4 why) = _call(s.caller, ESCROW, abi.encodeCall(IEscrow.claimAbandoned, (s.id)));
        bool allowed = both(_is(s, EscrowState.Funded), both(s.caller == s.buyer, s.time > s.graceEnd));
        if (!ok) return _requireNotAllowed(allowed, why);
        assert(both(allowed, both(_hasMoved(s, EscrowState.Abandoned), _hasPaid(s, s.locked, 0))));
    }

    function check_refund() public {
        Seen memory s = _anyEscrow();
        (bool ok, bytes4 why) = _call(s.caller, ESCROW, abi.encodeCall(IEscrow.refund, (s.id)));
        bool allowed = both(_is(s, EscrowState.Funded), both(s.caller == s.seller, s.time <= s.graceEnd));
        if (!ok) return _requireNotAllowed(allowed, why);
        assert(both(allowed, both(_hasMoved(s, EscrowState.Refunded), _hasPaid(s, s.locked, 0))));
    }

    function check_refundManyOfOne() public {
        Seen memory s = _anyEscrow();
        bytes32[] memory ids = new bytes32[](1);
        ids[0] = s.id;
        (bool ok, bytes4 why) = _call(s.caller, ESCROW, abi.encodeCall(IEscrow.refundMany, (ids)));
        bool allowed = both(_is(s, EscrowState.Funded), both(s.caller == s.seller, s.time <= s.graceEnd));
        if (!ok) return _requireNotAllowed(allowed, why);
        assert(both(allowed, both(_hasMoved(s, EscrowState.Refunded), _hasPaid(s, s.locked, 0))));
    }

    /// @dev The same escrow twice in a list is paid not even once.
    function check_refundManyOfTheSameTwice() public {
        Seen memory s = _anyEscrow();
        bytes32[] memory ids = new bytes32[](2);
        (ids[0], ids[1]) = (s.id, s.id);
        (bool ok, ) = _call(s.caller, ESCROW, abi.encodeCall(IEscrow.refundMany, (ids)));
        assert(!ok);
    }

    function check_openDispute() public {
        Seen memory s = _anyEscrow();
        (bool ok, bytes4 why) = _call(s.caller, ESCROW, abi.encodeCall(IEscrow.openDispute, (s.id)));
        bool allowed = both(_is(s, EscrowState.Delivered), both(s.caller == s.buyer, s.time <= s.windowEnd));
        if (!ok) return _requireNotAllowed(allowed, why);
        PackedProgress progress = PackedProgress.wrap(_word(s.id, 0));
        bool moved = both(progress.deliveredAtOf() == s.deliveredAt, progress.disputedAtOf() == s.time);
        assert(both(both(allowed, moved), both(_hasTimed(s, EscrowState.Disputed), _hasPaid(s, 0, 0))));
    }

    /// @dev Must fail: a seller can be paid, so the proofs of `accept` and `finalize` are not about nothing.
    function refute_acceptNeverSucceeds() public {
        Seen memory s = _anyEscrow();
        (bool ok, ) = _call(s.buyer, ESCROW, abi.encodeCall(IEscrow.accept, (s.id)));
        assert(!ok);
    }

    /// @dev Must fail: it is one second too strict.
    function refute_refundEndsBeforeTheGraceDoes() public {
        Seen memory s = _anyEscrow();
        (bool ok, ) = _call(s.seller, ESCROW, abi.encodeCall(IEscrow.refund, (s.id)));
        if (ok) assert(s.time < s.graceEnd);
    }

    /// @dev Must fail: the seller is paid, not the buyer.
    function refute_finalizePaysTheBuyer() public {
        Seen memory s = _anyEscrow();
        (bool ok, ) = _call(s.caller, ESCROW, abi.encodeCall(IEscrow.finalize, (s.id)));
        if (ok) assert(_hasPaid(s, s.locked, 0));
    }
}
