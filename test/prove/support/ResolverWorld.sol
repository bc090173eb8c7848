// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ResolvedBy} from "../../../contracts/types/EscrowTypes.sol";
import {MoodyEscrow} from "./Peers.sol";
import {World} from "./World.sol";

/// @notice The resolver contract's storage as the proofs read it.
abstract contract ResolverWorld is World {
    uint256 internal constant RESOLVER_STORAGE = 0xfb98d6a4596b45b0e6ca9bfadb5e5eb824e818eb6d12ea3ad61069ad51542f00;

    /// @dev Any holder and any proposed holder with any tenures, as every call leaves them (`check_systemRolesStayInOrder`, `check_adminRolesStayInOrder`).
    function _anyHolders(ResolvedBy role) internal returns (address holder, address pending) {
        (holder, pending) = (svm.createAddress("holder"), svm.createAddress("pending"));
        vm.store(RESOLVER, _holderSlot(role), bytes32(uint256(uint160(holder))));
        vm.store(RESOLVER, _pendingSlot(role), bytes32(uint256(uint160(pending))));
    }

    /// @dev The holder's tenure is open, who is proposed has never held the role, nor has the zero address.
    function _areInOrder(ResolvedBy role, uint256 time) internal view returns (bool) {
        address holder = address(uint160(uint256(vm.load(RESOLVER, _holderSlot(role)))));
        address pending = address(uint160(uint256(vm.load(RESOLVER, _pendingSlot(role)))));
        uint256 tenure = _tenureOf(role, holder);
        bool isOpen = both(uint64(tenure >> 64) == type(uint64).max, uint8(tenure >> 128) == 0);
        unchecked {
            isOpen = both(isOpen, both(uint64(tenure) != 0, uint64(tenure) <= time + 1));
        }
        bool isNew = uint64(_tenureOf(role, pending)) == 0;
        return both(both(either(holder == address(0), isOpen), isNew), uint64(_tenureOf(role, address(0))) == 0);
    }

    function _holderSlot(ResolvedBy role) internal pure returns (bytes32) {
        return keccak256(abi.encode(uint256(role), RESOLVER_STORAGE));
    }

    function _pendingSlot(ResolvedBy role) internal pure returns (bytes32) {
        return keccak256(abi.encode(uint256(role), RESOLVER_STORAGE + 1));
    }

    /// @dev An escrow contract in any state in the place of the real one, so that the resolver contract is alone.
    function _useMoodyEscrow() internal {
        vm.etch(ESCROW, type(MoodyEscrow).runtimeCode);
        svm.enableSymbolicStorage(ESCROW);
    }

    function _escrowWord(uint256 slot) internal view returns (uint256) {
        return uint256(vm.load(ESCROW, bytes32(slot)));
    }

    function _areRulingsPaused() internal view returns (bool) {
        return uint8(uint256(vm.load(RESOLVER, bytes32(RESOLVER_STORAGE + 3)))) != 0;
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
