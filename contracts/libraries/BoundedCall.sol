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
    /// @dev `token` must have code: only listed tokens come here, and listing reads their decimals.
    function tryTransfer(
        address token,
        address recipient,
        uint256 amount,
        uint256 gasLimit
    ) internal returns (bool success) {
        bytes memory data = abi.encodeCall(IERC20.transfer, (recipient, amount));
        uint256 returnedSize;
        uint256 returnedWord;
        (success, returnedSize, returnedWord) = _call(token, data, gasLimit);
        // A token that returns nothing is taken at its word, one that returns anything must return true.
        return success && (returnedSize == 0 || (returnedSize > 31 && returnedWord == 1));
    }

    /// @notice Calls `target`, which must have code; false when it reverted.
    function tryCall(address target, bytes memory data, uint256 gasLimit) internal returns (bool success) {
        (success, , ) = _call(target, data, gasLimit);
    }

    function _call(
        address target,
        bytes memory data,
        uint256 gasLimit
    ) private returns (bool success, uint256 returnedSize, uint256 returnedWord) {
        uint256 available = gasleft();
        uint256 required;
        unchecked {
            required = gasLimit + gasLimit / 63 + CALL_OVERHEAD;
        }
        if (available < required) revert IEscrow.InsufficientGas(available, required);
        assembly ("memory-safe") {
            mstore(0x00, 0)
            success := call(gasLimit, target, 0, add(data, 0x20), mload(data), 0x00, 0x20)
            returnedSize := returndatasize()
            returnedWord := mload(0x00)
        }
    }
}
