// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ResolvedBy} from "../../../contracts/types/EscrowTypes.sol";
import {World} from "./World.sol";

/// @notice The resolver contract's storage as the proofs read it.
abstract contract ResolverWorld is World {
    uint256 internal constant RESOLVER_STORAGE = 0xfb98d6a4596b45b0e6ca9bfadb5e5eb824e818eb6d12ea3ad61069ad51542f00;

    /// @dev Any holder and any proposed holder, instead of those of the set-up.
    function _anyHolders(ResolvedBy role) internal {
        bytes32 holder = keccak256(abi.encode(uint256(role), RESOLVER_STORAGE));
        bytes32 pending = keccak256(abi.encode(uint256(role), RESOLVER_STORAGE + 1));
        vm.store(RESOLVER, holder, bytes32(uint256(uint160(svm.createAddress("holder")))));
        vm.store(RESOLVER, pending, bytes32(uint256(uint160(svm.createAddress("pending")))));
    }

    /// @dev Who holds the role.
    function _holderOf(ResolvedBy role) internal view returns (address) {
        bytes32 slot = keccak256(abi.encode(uint256(role), RESOLVER_STORAGE));
        return address(uint160(uint256(vm.load(RESOLVER, slot))));
    }

    /// @dev The word of a tenure: from in its low 64 bits, until in the next 64, then the flag of a revocation.
    function _tenureOf(ResolvedBy role, address account) internal view returns (uint256) {
        bytes32 ofRole = keccak256(abi.encode(uint256(role), RESOLVER_STORAGE + 2));
        return uint256(vm.load(RESOLVER, keccak256(abi.encode(account, ofRole))));
    }

    /// @dev An account may rule an escrow that was created then.
    function _covers(uint256 tenure, uint256 createdAt) internal pure returns (bool) {
        (uint256 from, uint256 until) = (uint64(tenure), uint64(tenure >> 64));
        return both(both(from != 0, uint8(tenure >> 128) == 0), both(from <= createdAt, createdAt <= until));
    }
}
