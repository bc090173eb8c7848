// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IPriceFeed} from "../interfaces/IPriceFeed.sol";

/// @title Price feed for local chains and tests
/// @notice Until a round is set it answers `initialAnswer` as of now, so that moving a local chain's clock never makes
/// it stale. Its setup is in its code, so it works at any address.
contract MockPriceFeed is IPriceFeed {
    struct Round {
        uint80 roundId;
        uint80 answeredInRound;
        int256 answer;
        uint256 startedAt;
        uint256 updatedAt;
    }

    uint8 public immutable decimals;
    int256 public immutable initialAnswer;
    bool public hasRound;
    Round public round;

    constructor(uint8 decimals_, int256 answer) {
        decimals = decimals_;
        initialAnswer = answer;
    }

    /// @notice Answers this round from now on.
    function setRound(Round calldata newRound) external {
        hasRound = true;
        round = newRound;
    }

    /// @inheritdoc IPriceFeed
    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        if (!hasRound) return (1, initialAnswer, block.timestamp, block.timestamp, 1);
        return (round.roundId, round.answer, round.startedAt, round.updatedAt, round.answeredInRound);
    }
}
