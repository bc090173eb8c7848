// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IEscrow} from "../../contracts/interfaces/IEscrow.sol";
import {FeeMath} from "../../contracts/libraries/FeeMath.sol";
import {DisputeOutcome, EscrowState, ResolutionMethod, ResolvedBy} from "../../contracts/types/EscrowTypes.sol";
import {World} from "./support/World.sol";

/// @notice The two ways in which the escrow contract ends a dispute, from any stored state, by any caller, at any time.
contract DisputeProofs is World {
    function check_resolveToTheBuyer() public {
        Seen memory s = _anyEscrow();
        (uint256 toBuyer, uint256 toSeller) = FeeMath.split(s.locked, 100);
        vm.assume(both(toBuyer == s.locked, toSeller == 0)); // proven: check_splitGivesAllAtItsEnds
        (bool ok, bytes4 why, bool allowed) = _resolve(s, DisputeOutcome.BuyerRefund, 100, 0);
        if (!ok) return _requireNotAllowed(allowed, why);
        assert(both(allowed, both(_hasMoved(s, EscrowState.Resolved), _hasPaid(s, s.locked, 0))));
    }

    function check_resolveToTheSeller() public {
        Seen memory s = _anyEscrow();
        (bool ok, bytes4 why, bool allowed) = _resolve(s, DisputeOutcome.SellerPaid, 0, 100);
        if (!ok) return _requireNotAllowed(allowed, why);
        assert(both(allowed, both(_hasMoved(s, EscrowState.Resolved), _hasPaid(s, 0, s.locked))));
    }

    function check_resolveAsSplit() public {
        Seen memory s = _anyEscrow();
        uint256 buyerPercent = svm.createUint(7, "buyerPercent");
        vm.assume(buyerPercent <= 100);
        (uint256 toBuyer, uint256 toSeller) = _split(s, buyerPercent);
        uint256 sellerPercent;
        unchecked {
            sellerPercent = 100 - buyerPercent;
        }
        (bool ok, bytes4 why, bool allowed) = _resolve(s, DisputeOutcome.Split, buyerPercent, sellerPercent);
        if (!ok) return _requireNotAllowed(allowed, why);
        assert(both(allowed, both(_hasMoved(s, EscrowState.Resolved), _hasPaid(s, toBuyer, toSeller))));
    }

    /// @dev Any other percentages end no dispute, whatever the outcome.
    function check_resolveByOtherPercentages() public {
        Seen memory s = _anyEscrow();
        uint256 outcome = svm.createUint(8, "outcome");
        uint256 buyerPercent = svm.createUint256("buyerPercent");
        uint256 sellerPercent = svm.createUint256("sellerPercent");
        unchecked {
            bool fit = both(buyerPercent <= 100, sellerPercent == 100 - buyerPercent);
            fit = both(fit, either(outcome != uint256(DisputeOutcome.BuyerRefund), buyerPercent == 100));
            fit = both(fit, either(outcome != uint256(DisputeOutcome.SellerPaid), buyerPercent == 0));
            vm.assume(!both(fit, outcome <= uint256(DisputeOutcome.Split)));
        }
        (bool ok, ) = _call(
            s.caller,
            ESCROW,
            abi.encodeWithSelector(
                IEscrow.resolve.selector,
                s.id,
                outcome,
                buyerPercent,
                sellerPercent,
                0,
                0,
                bytes32(0)
            )
        );
        assert(!ok);
    }

    function check_resolveExpired() public {
        Seen memory s = _anyEscrow();
        (uint256 toBuyer, uint256 toSeller) = _split(s, 50);
        (bool ok, bytes4 why) = _call(s.caller, ESCROW, abi.encodeCall(IEscrow.resolveExpired, (s.id)));
        bool allowed;
        unchecked {
            allowed = both(_is(s, EscrowState.Disputed), s.time > s.disputedAt + 30 days);
        }
        if (!ok) return _requireNotAllowed(allowed, why);
        assert(both(allowed, both(_hasMoved(s, EscrowState.Resolved), _hasPaid(s, toBuyer, toSeller))));
    }

    /// @dev Must fail: a dispute can be resolved.
    function refute_resolveNeverSucceeds() public {
        Seen memory s = _anyEscrow();
        (bool ok, , ) = _resolve(s, DisputeOutcome.Split, 30, 70);
        assert(!ok);
    }

    /// @dev Must fail: the odd unit of a split is the seller's.
    function refute_resolveExpiredPaysBothTheSame() public {
        Seen memory s = _anyEscrow();
        (uint256 toBuyer, ) = _split(s, 50);
        (bool ok, ) = _call(s.caller, ESCROW, abi.encodeCall(IEscrow.resolveExpired, (s.id)));
        if (ok) assert(_hasPaid(s, toBuyer, toBuyer));
    }

    function _resolve(
        Seen memory s,
        DisputeOutcome outcome,
        uint256 buyerPercent,
        uint256 sellerPercent
    ) private returns (bool ok, bytes4 why, bool allowed) {
        uint256 resolvedBy = svm.createUint(1, "resolvedBy");
        uint256 method = svm.createUint(2, "method");
        vm.assume(method <= uint256(ResolutionMethod.Timeout));
        (ok, why) = _call(
            s.caller,
            ESCROW,
            abi.encodeCall(
                IEscrow.resolve,
                (
                    s.id,
                    outcome,
                    buyerPercent,
                    sellerPercent,
                    ResolvedBy(resolvedBy),
                    ResolutionMethod(method),
                    svm.createBytes32("rationaleHash")
                )
            )
        );
        allowed = both(_is(s, EscrowState.Disputed), s.caller == RESOLVER);
    }

    function _split(Seen memory s, uint256 buyerPercent) private pure returns (uint256 toBuyer, uint256 toSeller) {
        (toBuyer, toSeller) = FeeMath.split(s.locked, buyerPercent);
        // Proven: check_splitIsTheLocked.
        unchecked {
            vm.assume(toBuyer + toSeller == s.locked);
        }
        vm.assume(both(toBuyer <= s.locked, toSeller <= s.locked));
    }
}
