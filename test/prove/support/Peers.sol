// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Escrow, EscrowState} from "../../../contracts/types/EscrowTypes.sol";

/// @notice A token that pays or answers false, as a symbolic storage decides for each recipient. It has no branches.
contract MoodyToken {
    uint8 public constant decimals = 6;

    mapping(address account => uint256) public balanceOf; // slot 0
    mapping(address recipient => bool) public refuses; // slot 1
    bytes32 private nonce; // slot 2: of the last authorization

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
        bytes32 authorization,
        bytes calldata
    ) external {
        nonce = authorization;
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

/// @notice An escrow contract with one escrow of any state and time, for proofs of the resolver contract alone. It takes
/// a resolution or reverts, as a symbolic storage decides, and keeps what it was told.
contract MoodyEscrow {
    address private constant BUYER = address(0xB0B);
    address private constant SELLER = address(0x5E11);

    uint256 private state; // slot 0
    uint256 private createdAt; // slot 1
    address private currentPauser; // slot 2
    uint256 private refuses; // slot 3
    bytes32 private asked; // slot 4: the id of the escrow that there is
    bytes32 private told; // slot 5: hash of the calldata

    function getEscrow(bytes32 id) external view returns (Escrow memory escrow) {
        if (id != asked) return escrow;
        escrow.buyer = BUYER;
        escrow.seller = SELLER;
        escrow.state = EscrowState(state);
        escrow.createdAt = createdAt;
    }

    function pauser() external view returns (address) {
        return currentPauser;
    }

    function resolve(bytes32, uint8, uint256, uint256, uint8, uint8, bytes32) external {
        if (refuses != 0) revert();
        told = keccak256(msg.data);
    }
}

/// @notice A smart wallet that has agreed on any digests, whatever the signature.
contract MoodyWallet {
    mapping(bytes32 digest => bool) private agreed; // slot 0

    function isValidSignature(bytes32 digest, bytes calldata) external view returns (bytes4) {
        return agreed[digest] ? this.isValidSignature.selector : bytes4(0);
    }
}
