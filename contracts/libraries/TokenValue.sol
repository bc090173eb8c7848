// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

import {IEscrow} from "../interfaces/IEscrow.sol";
import {IPriceFeed} from "../interfaces/IPriceFeed.sol";
import {StoredToken} from "../types/StoredToken.sol";
import {ProtocolConstants} from "./ProtocolConstants.sol";

/// @title Value of tokens in USD
library TokenValue {
    /// @notice The value of `amount` token units in USD with 6 decimals, rounded up so that no cap is passed by a
    /// fraction. Reverts with `InvalidPrice` on an answer that is stale, incomplete, zero, negative or from the future.
    function usdValue(StoredToken storage config, uint256 amount) internal view returns (uint256) {
        if (config.feed == address(0) && config.decimals == ProtocolConstants.USD_DECIMALS) return amount;
        uint256 tokenUnit = 10 ** uint256(config.decimals);
        if (config.feed == address(0)) {
            return Math.mulDiv(amount, ProtocolConstants.USD_UNIT, tokenUnit, Math.Rounding.Ceil);
        }
        uint256 price = _price(config.feed, config.maxPriceAge);
        uint256 priceUnit = 10 ** uint256(IPriceFeed(config.feed).decimals());
        return Math.mulDiv(amount * ProtocolConstants.USD_UNIT, price, tokenUnit * priceUnit, Math.Rounding.Ceil);
    }

    function _price(address feed, uint256 maxPriceAge) private view returns (uint256) {
        (uint80 roundId, int256 answer, , uint256 updatedAt, uint80 answeredInRound) = IPriceFeed(feed)
            .latestRoundData();
        if (
            answer <= 0 ||
            answer > type(int192).max || // the greatest answer that a feed can store
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
