// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Constants of the protocol
/// @notice Each number once, with the section of the specification that sets it. `test/contracts/unit` asserts that
/// they agree with the constants of the other languages.
library ProtocolConstants {
    /// @dev Platform fee in basis points of the gross deposit (8.1).
    uint256 internal constant FEE_BPS = 200;
    uint256 internal constant BPS_DENOMINATOR = 10_000;
    uint256 internal constant PERCENT_DENOMINATOR = 100;

    /// @dev The smallest deposit in token units that the fee, rounded up, leaves anything of.
    uint256 internal constant LEAST_DEPOSIT = 2;

    /// @dev Dispute window in seconds (8.1).
    uint256 internal constant MIN_DISPUTE_WINDOW_SECONDS = 300;
    uint256 internal constant MAX_DISPUTE_WINDOW_SECONDS = 86_400;
    uint256 internal constant DEFAULT_DISPUTE_WINDOW_SECONDS = 3_600;

    /// @dev Abandonment grace in seconds (8.1).
    uint256 internal constant MIN_ABANDONMENT_GRACE_SECONDS = 3_600;
    uint256 internal constant MAX_ABANDONMENT_GRACE_SECONDS = 2_592_000;
    uint256 internal constant DEFAULT_ABANDONMENT_GRACE_SECONDS = 172_800;

    /// @dev Least span from the creation to the deadline in seconds.
    uint256 internal constant MIN_DELIVERY_SECONDS = 600;

    /// @dev Seconds after the dispute from which anyone may end it 50/50.
    uint256 internal constant RESOLUTION_TIMEOUT_SECONDS = 30 days;

    /// @dev Testnet score that opens mainnet checkout (3.4).
    int256 internal constant MAINNET_GRADUATION_SCORE = 10;

    /// @dev USD amounts have 6 decimals.
    uint256 internal constant USD_DECIMALS = 6;
    uint256 internal constant USD_UNIT = 10 ** USD_DECIMALS;

    /// @dev Gas that a payout and a score update are given. A call that runs out of it has failed by itself, never by
    /// the gas that its caller sent.
    uint256 internal constant PAYOUT_GAS = 200_000;
    uint256 internal constant SCORE_GAS = 150_000;
}
