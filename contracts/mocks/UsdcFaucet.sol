// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IUsdc} from "./IUsdc.sol";

/// @title Source of USDC on local chains
/// @notice Master minter of the chain's USDC. Anyone may mint.
contract UsdcFaucet {
    IUsdc public immutable usdc;

    /// @notice Initializes the token as Circle does, up to version 2.2.
    /// @param name "USDC" on Base Sepolia, "USD Coin" on Base
    /// @param authority pauser, blacklister and owner of the token
    constructor(IUsdc usdc_, string memory name, address authority) {
        usdc = usdc_;
        usdc_.initialize(name, "USDC", "USD", 6, address(this), authority, authority, authority);
        usdc_.initializeV2(name);
        usdc_.initializeV2_1(authority);
        usdc_.initializeV2_2(new address[](0), "USDC");
    }

    /// @notice Creates `amount` token units for `recipient`.
    function mint(address recipient, uint256 amount) external {
        usdc.configureMinter(address(this), amount);
        usdc.mint(recipient, amount);
    }
}
