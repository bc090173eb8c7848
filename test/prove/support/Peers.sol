// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Escrow, EscrowState} from "../../../contracts/types/EscrowTypes.sol";

/// @notice A token that pays or answers false, as a symbolic storage decides for each recipient. It has no branches.
contract MoodyToken {
    uint8 public constant decimals = 6;

    mapping(address account => uint256) public balanceOf; // slot 0
    mapping(address recipient => bool) public refuses; // slot 1

    function transfer(address recipient, uint256 amount) external returns (bool paid) {
        uint256 had = balanceOf[msg.sender];
        bool refused = refuses[recipient];
        assembly ("memory-safe") {
            paid := and(iszero(lt(had, amount)), iszero(refused))
            amount := and(amount, sub(0, paid))
        }
        unchecked {
            balanceOf[msg.sender] = had - amount;
            balanceOf[recipient] += amount;
        }
    }

    function transferFrom(address sender, address recipient, uint256 amount) external returns (bool) {
        _deposit(sender, recipient, amount);
        return true;
    }

    function receiveWithAuthorization(
        address sender,
        address recipient,
        uint256 amount,
        uint256,
        uint256,
        bytes32,
        bytes calldata
    ) external {
        _deposit(sender, recipient, amount);
    }

    function _deposit(address sender, address recipient, uint256 amount) private {
        if (balanceOf[sender] < amount) revert();
        unchecked {
            balanceOf[sender] -= amount;
            balanceOf[recipient] += amount;
        }
    }
}

/// @notice A score contract that takes an outcome or reverts, as a symbolic storage decides; its caps are symbolic too.
contract MoodyScore {
    uint256 private refuses;
    uint256 private cap;

    function recordOutcome(bytes32, address, address, uint8) external view {
        if (refuses != 0) revert();
    }

    function jobValueCap(address buyer, address) external view returns (uint256, address) {
        return (cap, buyer);
    }
}

/// @notice An escrow contract with one disputed escrow of any times and any pauser, for proofs of the resolver contract alone.
contract MoodyEscrow {
    uint256 private createdAt;
    address private currentPauser;

    function getEscrow(bytes32) external view returns (Escrow memory escrow) {
        escrow.buyer = address(0xB0B);
        escrow.seller = address(0x5E11);
        escrow.state = EscrowState.Disputed;
        escrow.createdAt = createdAt;
    }

    function pauser() external view returns (address) {
        return currentPauser;
    }

    function resolve(bytes32, uint8, uint256, uint256, uint8, uint8, bytes32) external {}
}
