// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {FeeMath} from "../../contracts/libraries/FeeMath.sol";
import {JobValueCaps} from "../../contracts/libraries/JobValueCaps.sol";
import {TokenValue} from "../../contracts/libraries/TokenValue.sol";
import {Cheats} from "./support/Cheats.sol";

/// @notice Fee and split keep every unit of every deposit; caps grow with the score.
contract MathProofs is Cheats {
    function check_feeAndLockedAreTheDeposit(uint256 amount) public pure {
        vm.assume(amount <= TokenValue.MAX_AMOUNT);
        (uint256 fee, uint256 locked) = (FeeMath.feeOf(amount), FeeMath.lockedOf(amount));
        unchecked {
            assert(both(fee + locked == amount, both(fee <= amount, locked <= amount)));
        }
    }

    function check_feeIsTwoPercentRoundedUp(uint256 amount) public pure {
        vm.assume(amount <= TokenValue.MAX_AMOUNT);
        uint256 fee = FeeMath.feeOf(amount);
        unchecked {
            assert(both(fee * 50 >= amount, fee * 50 < amount + 50));
        }
    }

    function check_splitIsTheLocked(uint256 locked, uint256 buyerPercent) public pure {
        vm.assume(both(locked <= TokenValue.MAX_AMOUNT, buyerPercent <= 100));
        (uint256 buyerPart, uint256 sellerPart) = FeeMath.split(locked, buyerPercent);
        unchecked {
            assert(buyerPart + sellerPart == locked);
        }
        assert(buyerPart <= locked);
        assert(sellerPart <= locked);
    }

    function check_splitIsRoundedDown(uint256 locked, uint256 buyerPercent) public pure {
        vm.assume(both(locked <= TokenValue.MAX_AMOUNT, buyerPercent <= 100));
        (uint256 buyerPart, ) = FeeMath.split(locked, buyerPercent);
        unchecked {
            uint256 exact = locked * buyerPercent;
            assert(both(buyerPart * 100 <= exact, exact < buyerPart * 100 + 100));
        }
    }

    function check_splitGivesAllAtItsEnds(uint256 locked) public pure {
        vm.assume(locked <= TokenValue.MAX_AMOUNT);
        (uint256 buyerNone, uint256 sellerAll) = FeeMath.split(locked, 0);
        (uint256 buyerAll, uint256 sellerNone) = FeeMath.split(locked, 100);
        assert(both(both(buyerNone == 0, sellerAll == locked), both(buyerAll == locked, sellerNone == 0)));
    }

    function check_capsGrowWithTheScore(int256 lower, int256 higher) public pure {
        vm.assume(lower <= higher);
        uint256 cap = JobValueCaps.capOf(lower);
        assert(both(JobValueCaps.LOWEST_CAP_USD <= cap, cap <= JobValueCaps.capOf(higher)));
    }

    /// @dev Must fail: the fee is rounded up.
    function refute_feeIsRoundedDown(uint256 amount) public pure {
        vm.assume(amount <= TokenValue.MAX_AMOUNT);
        assert(FeeMath.feeOf(amount) == amount / 50);
    }

    /// @dev Must fail: above the bound the product overflows.
    function refute_feeNeedsNoBound(uint256 amount) public pure {
        unchecked {
            assert(FeeMath.feeOf(amount) >= amount / 50);
        }
    }
}
