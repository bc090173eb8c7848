// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Tokens that a signature can move
/// @notice The part of EIP-3009 that `createEscrowWithAuthorization` needs, in the form of USDC since its version 2.2,
/// whose signature is bytes so that ERC-1271 wallets can sign too.
interface IReceiveWithAuthorization {
    /// @notice Moves `value` token units from `from` to `to`, who must be the caller.
    /// @param validAfter unix seconds after which the authorization is valid
    /// @param validBefore unix seconds before which the authorization is valid
    /// @param nonce unique to `from`
    /// @param signature EIP-712 signature of `from`
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external;
}
