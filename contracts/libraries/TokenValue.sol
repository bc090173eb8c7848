// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

import {IEscrow} from "../interfaces/IEscrow.sol";
import {IPriceFeed} from "../interfaces/IPriceFeed.sol";
import {StoredToken} from "../types/StoredToken.sol";
import {ProtocolConstants} from "./ProtocolConstants.sol";

/// @title Value of tokens in USD
/// @notice The bounds keep every product below 2^256: amount (2^96) times USD unit (2^20) times price (2^128).
library TokenValue {
    /// @dev The greatest amount in token units, also of a deposit.
    uint256 internal constant MAX_AMOUNT = type(uint96).max;
    /// @dev The greatest price in units of the feed.
    uint256 internal constant MAX_PRICE = type(uint128).max;
    /// @dev The most decimals of a token and of a feed.
    uint256 internal constant MAX_DECIMALS = 36;

    /// @notice True when one token unit is one unit of USD: no feed, 6 decimals.
    function isDollar(StoredToken storage config) internal view returns (bool) {
        return config.feed == address(0) && config.decimals == ProtocolConstants.USD_DECIMALS;
    }

    /// @notice The value of `amount` token units, at most `MAX_AMOUNT`, in USD with 6 decimals, rounded up so that no
    /// cap is passed by a fraction. Reverts with `InvalidPrice` on an answer that is stale, incomplete, zero, negative,
    /// above `MAX_PRICE` or from the future.
    function usdValue(StoredToken storage config, uint256 amount) internal view returns (uint256) {
        if (isDollar(config)) return amount;
        address feed = config.feed;
        uint256 tokenUnit = 10 ** uint256(config.decimals);
        if (feed == address(0)) return Math.ceilDiv(amount * ProtocolConstants.USD_UNIT, tokenUnit);
        uint256 price = _price(feed, config.maxPriceAge);
        uint256 feedDecimals = IPriceFeed(feed).decimals();
        if (feedDecimals > MAX_DECIMALS) revert IEscrow.DecimalsAboveMaximum(feed, feedDecimals, MAX_DECIMALS);
        return Math.ceilDiv(amount * ProtocolConstants.USD_UNIT * price, tokenUnit * 10 ** feedDecimals);
    }

    function _price(address feed, uint256 maxPriceAge) private view returns (uint256) {
        (uint80 roundId, int256 answer, , uint256 updatedAt, uint80 answeredInRound) = IPriceFeed(feed)
            .latestRoundData();
        if (
            answer <= 0 ||
            uint256(answer) > MAX_PRICE ||
            updatedAt == 0 || // the round is not complete
            answeredInRound < roundId || // the answer was carried over from an earlier round
            updatedAt > block.timestamp ||
            block.timestamp - updatedAt > maxPriceAge
        ) {
            revert IEscrow.InvalidPrice(
                feed,
                answer,
                updatedAt,
                maxPriceAge,
                block.timestamp,
                roundId,
                answeredInRound
            );
        }
        return uint256(answer);
    }
}
