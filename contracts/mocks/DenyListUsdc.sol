// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {MockUsdc} from "./MockUsdc.sol";

/// @title USDC with its deny-list for tests on forks of local chains
/// @notice Like the live token: the blacklister alone may shut out an address, which then neither sends nor receives.
contract DenyListUsdc is MockUsdc {
    /// @notice Who may shut out an address. Nobody has its key; tests act in its name.
    address public constant blacklister = address(uint160(uint256(keccak256("blacklister"))));

    mapping(address account => bool) public isBlacklisted;

    error CallerNotBlacklister(address caller);
    error Blacklisted(address account);

    constructor(string memory name_) MockUsdc(name_) {}

    /// @notice Shuts out an address.
    function blacklist(address account) external {
        _setBlacklisted(account, true);
    }

    /// @notice Lets an address in again.
    function unBlacklist(address account) external {
        _setBlacklisted(account, false);
    }

    function _update(address from, address to, uint256 value) internal override {
        if (isBlacklisted[from]) revert Blacklisted(from);
        if (isBlacklisted[to]) revert Blacklisted(to);
        super._update(from, to, value);
    }

    function _setBlacklisted(address account, bool shutOut) private {
        if (msg.sender != blacklister) revert CallerNotBlacklister(msg.sender);
        isBlacklisted[account] = shutOut;
    }
}
