// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Job value caps
/// @notice The largest value of a job in USD (6 decimals) that a score opens (specification section 8.4).
library JobValueCaps {
    /// @dev What every score allows, a negative one too: a job up to it needs no look at the score contract.
    uint256 internal constant LOWEST_CAP_USD = 10e6;
    uint256 internal constant UNLIMITED = type(uint256).max;

    /// @notice The cap of a score.
    function capOf(int256 score) internal pure returns (uint256) {
        if (score < 10) return LOWEST_CAP_USD;
        if (score < 30) return 25e6;
        if (score < 70) return 100e6;
        if (score < 100) return 2_500e6;
        return UNLIMITED;
    }
}
