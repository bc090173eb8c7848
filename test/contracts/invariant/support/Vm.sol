// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Cheatcodes of Hardhat's Solidity tests that these tests use
interface Vm {
    /// @notice The next call comes from `sender`.
    function prank(address sender) external;
    /// @notice Sets the block's timestamp in unix seconds.
    function warp(uint256 timestamp) external;
    /// @notice Creation code of a compiled contract, `path:Name`.
    function getCode(string calldata artifact) external view returns (bytes memory);
    /// @notice Replaces the code at an address.
    function etch(address target, bytes calldata code) external;
    /// @notice Gives an address a name in traces.
    function label(address account, string calldata name) external;
    /// @notice Address of a private key.
    function addr(uint256 privateKey) external pure returns (address);
    /// @notice Signs a digest.
    function sign(uint256 privateKey, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    /// @notice Gives up this fuzz input.
    function assume(bool condition) external pure;
    /// @notice The next call must revert with exactly these bytes.
    function expectRevert(bytes calldata revertData) external;
    /// @notice Sets the ether balance of an address.
    function deal(address account, uint256 balance) external;
}

Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

/// @notice Thrown when what happened is not what the model says.
error Unequal(string what, uint256 actual, uint256 expected);

/// @dev Compares two numbers.
function equal(uint256 actual, uint256 expected, string memory what) pure {
    if (actual != expected) revert Unequal(what, actual, expected);
}

/// @dev Requires at least this many.
function reached(uint256 actual, uint256 least, string memory what) pure {
    if (actual < least) revert Unequal(what, actual, least);
}

/// @dev Creates a compiled contract with encoded constructor arguments.
function create(string memory artifact, bytes memory arguments) returns (address created) {
    bytes memory code = abi.encodePacked(vm.getCode(artifact), arguments);
    assembly ("memory-safe") {
        created := create(0, add(code, 0x20), mload(code))
    }
    if (created == address(0)) revert Unequal(artifact, 0, 1);
}
