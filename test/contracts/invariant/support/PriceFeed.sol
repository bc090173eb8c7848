// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IPriceFeed} from "../../../../contracts/interfaces/IPriceFeed.sol";

/// @title A price feed whose answer the test sets
contract PriceFeed is IPriceFeed {
    uint8 public immutable decimals;
    int256 public answer;
    uint256 public updatedAt;
    uint80 public roundId = 2;
    uint80 public answeredInRound = 2;

    constructor(uint8 decimals_, int256 answer_) {
        decimals = decimals_;
        answer = answer_;
    }

    /// @notice Answers this from now on.
    function set(int256 answer_, uint256 updatedAt_) external {
        answer = answer_;
        updatedAt = updatedAt_;
    }

    /// @notice The round of the answer; one below 2 is an answer that was carried over.
    function setAnsweredInRound(uint80 round) external {
        answeredInRound = round;
    }

    /// @inheritdoc IPriceFeed
    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        return (roundId, answer, updatedAt, updatedAt, answeredInRound);
    }
}
