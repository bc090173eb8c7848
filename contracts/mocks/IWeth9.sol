// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";

/// @title WETH9
/// @notice Ether in ERC-20 form. A call of a function that it lacks is a deposit and succeeds.
interface IWeth9 is IERC20Metadata {
    /// @notice Emitted when ether is wrapped, also when it is none.
    event Deposit(address indexed dst, uint256 wad);
    /// @notice Emitted when ether is unwrapped.
    event Withdrawal(address indexed src, uint256 wad);

    /// @notice Wraps the ether that is sent.
    function deposit() external payable;

    /// @notice Unwraps `wad` wei.
    function withdraw(uint256 wad) external;
}
