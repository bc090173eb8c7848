// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ProtocolConstants} from "./ProtocolConstants.sol";

/// @title Division of a deposit
/// @notice All amounts are token units; none may exceed `type(uint96).max`, so that no product overflows.
library FeeMath {
    /// @notice The platform fee of a gross deposit, rounded up.
    function feeOf(uint256 amount) internal pure returns (uint256) {
        unchecked {
            return
                (amount * ProtocolConstants.FEE_BPS + (ProtocolConstants.BPS_DENOMINATOR - 1)) /
                ProtocolConstants.BPS_DENOMINATOR;
        }
    }

    /// @notice What remains of a gross deposit after the fee.
    function lockedOf(uint256 amount) internal pure returns (uint256) {
        unchecked {
            return amount - feeOf(amount);
        }
    }

    /// @notice The buyer's part of the locked funds, rounded down; the seller has the rest.
    /// @param buyerPercent whole percent, 0 to 100
    function split(uint256 locked, uint256 buyerPercent) internal pure returns (uint256 buyerPart, uint256 sellerPart) {
        unchecked {
            buyerPart = (locked * buyerPercent) / ProtocolConstants.PERCENT_DENOMINATOR;
            sellerPart = locked - buyerPart;
        }
    }
}
