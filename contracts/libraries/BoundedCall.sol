// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {IEscrow} from "../interfaces/IEscrow.sol";

/// @title Calls that may fail but not block
/// @notice A call gets exactly `gasLimit` gas. When the caller sent too little for that, the whole transaction reverts:
/// nobody can make an inner call fail by choosing the gas of the outer one (63/64 rule). At most one word of what the
/// callee returns is read, so that it cannot burn the caller's gas with a long answer.
library BoundedCall {
    /// @dev Upper bound of what the call itself costs (cold account 2600) before the 63/64 rule is applied.
    uint256 private constant CALL_OVERHEAD = 3_000;

    /// @notice Transfers tokens held by this contract; false when the token reverted or returned false.
    /// @dev `token` must have code: only listed tokens come here, and listing reads their decimals. By ERC-20 a token
    /// has moved nothing when it reverts or returns false. Any other answer, none included, counts as paid: to credit
    /// what has moved would pay twice, out of the escrows of others.
    function tryTransfer(
        address token,
        address recipient,
        uint256 amount,
        uint256 gasLimit
    ) internal returns (bool success) {
        _requireGas(gasLimit);
        bytes4 selector = IERC20.transfer.selector;
        // A call that copies no long answer can be written in no other way.
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            let freePointer := mload(0x40)
            mstore(0x00, selector)
            mstore(0x04, and(recipient, shr(96, not(0))))
            mstore(0x24, amount)
            success := call(gasLimit, token, 0, 0x00, 0x44, 0x00, 0x20)
            // The word at 0x00 is the token's answer only when it returned as much.
            let answeredFalse := and(gt(returndatasize(), 0x1f), iszero(mload(0x00)))
            success := and(success, iszero(answeredFalse))
            mstore(0x40, freePointer)
        }
    }

    /// @notice Calls `target`, which must have code; false when it reverted.
    function tryCall(address target, bytes memory data, uint256 gasLimit) internal returns (bool success) {
        _requireGas(gasLimit);
        // A call that copies no long answer can be written in no other way.
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            success := call(gasLimit, target, 0, add(data, 0x20), mload(data), 0x00, 0x00)
        }
    }

    function _requireGas(uint256 gasLimit) private view {
        uint256 available = gasleft();
        unchecked {
            uint256 required = gasLimit + gasLimit / 63 + CALL_OVERHEAD;
            if (available < required) revert IEscrow.InsufficientGas(available, required);
        }
    }
}
