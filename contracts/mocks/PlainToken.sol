// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title A token without a proxy, a pause or a deny list
/// @notice 6 decimals like USDC, so that the difference in gas is what USDC itself costs. Anyone may mint.
contract PlainToken is ERC20 {
    constructor() ERC20("Plain", "PLAIN") {}

    /// @notice Creates `amount` token units for `recipient`.
    function mint(address recipient, uint256 amount) external {
        _mint(recipient, amount);
    }

    /// @inheritdoc ERC20
    function decimals() public pure override returns (uint8) {
        return 6;
    }
}
