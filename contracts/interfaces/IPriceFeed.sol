// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Price feed
/// @notice The part of Chainlink's AggregatorV3Interface that values a token in USD.
interface IPriceFeed {
    /// @notice Decimals of the answer.
    function decimals() external view returns (uint8);

    /// @notice The latest round.
    /// @return roundId id of the round
    /// @return answer price in USD with `decimals` decimals
    /// @return startedAt unix seconds at which the round started
    /// @return updatedAt unix seconds at which the answer was set, 0 while the round is incomplete
    /// @return answeredInRound deprecated; the round in which the answer was computed
    function latestRoundData()
        external
        view
        returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound);
}
