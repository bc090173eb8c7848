// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice When an address holds a resolver role. It may rule the escrows created from `from` to `until`, both included,
/// during its tenure and after it, unless it was revoked. Nobody holds a role twice.
/// @param from unix seconds; 0 for an address that never held the role
/// @param until unix seconds; `type(uint64).max` while the address holds the role
/// @param revoked true when the address may rule no escrow any more
struct ResolverTenure {
    uint64 from;
    uint64 until;
    bool revoked;
}
