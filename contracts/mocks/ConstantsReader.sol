// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {JobValueCaps} from "../libraries/JobValueCaps.sol";
import {ProtocolConstants} from "../libraries/ProtocolConstants.sol";

/// @title Constants for tests
/// @notice Shows the internal constants, so that a test can hold them against those of the other languages.
contract ConstantsReader {
    /// @notice Fee in basis points and what they are parts of.
    function fee() external pure returns (uint256 feeBps, uint256 denominator) {
        return (ProtocolConstants.FEE_BPS, ProtocolConstants.BPS_DENOMINATOR);
    }

    /// @notice Dispute window in seconds.
    function disputeWindow() external pure returns (uint256 minimum, uint256 maximum, uint256 defaultValue) {
        return (
            ProtocolConstants.MIN_DISPUTE_WINDOW_SECONDS,
            ProtocolConstants.MAX_DISPUTE_WINDOW_SECONDS,
            ProtocolConstants.DEFAULT_DISPUTE_WINDOW_SECONDS
        );
    }

    /// @notice Abandonment grace in seconds.
    function abandonmentGrace() external pure returns (uint256 minimum, uint256 maximum, uint256 defaultValue) {
        return (
            ProtocolConstants.MIN_ABANDONMENT_GRACE_SECONDS,
            ProtocolConstants.MAX_ABANDONMENT_GRACE_SECONDS,
            ProtocolConstants.DEFAULT_ABANDONMENT_GRACE_SECONDS
        );
    }

    /// @notice Least seconds to the deadline, and seconds to the timeout of a dispute.
    function spans() external pure returns (uint256 minDelivery, uint256 resolutionTimeout) {
        return (ProtocolConstants.MIN_DELIVERY_SECONDS, ProtocolConstants.RESOLUTION_TIMEOUT_SECONDS);
    }

    /// @notice Cap of a score in USD with 6 decimals.
    function capOf(int256 score) external pure returns (uint256) {
        return JobValueCaps.capOf(score);
    }

    /// @notice The cap that the escrow contract takes for granted.
    function lowestCap() external pure returns (uint256) {
        return JobValueCaps.LOWEST_CAP_USD;
    }
}
