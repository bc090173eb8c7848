// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice The stored valuation of a token: one slot. A token is listed while `minAmount` is above 0; its index stays
/// its own for ever, because open escrows name their token by it.
struct StoredToken {
    // slot 0
    address feed;
    uint24 maxPriceAge; // seconds
    uint8 decimals;
    uint8 index; // from 1; 0 for a token that was never listed
    uint56 minAmount; // token units
}
