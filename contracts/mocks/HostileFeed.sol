// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IPriceFeed} from "../interfaces/IPriceFeed.sol";

/// @title A price feed that reverts
contract HostileFeed is IPriceFeed {
    uint8 public constant decimals = 8;

    error FeedBroken();

    /// @inheritdoc IPriceFeed
    function latestRoundData() external pure returns (uint80, int256, uint256, uint256, uint80) {
        revert FeedBroken();
    }
}
