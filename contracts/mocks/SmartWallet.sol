// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

/// @title A wallet that is a contract
/// @notice Signs by the key of its owner (ERC-1271) and calls what its owner asks.
contract SmartWallet is IERC1271 {
    address public immutable owner;

    error CallerNotOwner(address caller);
    error CallFailed(bytes answer);

    constructor(address owner_) {
        owner = owner_;
    }

    /// @notice Calls `target` with `data`.
    function execute(address target, bytes calldata data) external {
        if (msg.sender != owner) revert CallerNotOwner(msg.sender);
        (bool success, bytes memory answer) = target.call(data);
        if (!success) revert CallFailed(answer);
    }

    /// @inheritdoc IERC1271
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        (address signer, ECDSA.RecoverError failure, ) = ECDSA.tryRecover(hash, signature);
        return
            failure == ECDSA.RecoverError.NoError && signer == owner
                ? IERC1271.isValidSignature.selector
                : bytes4(0xffffffff);
    }
}
