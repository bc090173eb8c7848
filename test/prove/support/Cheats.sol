// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice The cheat codes of halmos that the proofs use.
interface Vm {
    function assume(bool condition) external pure;
    function prank(address caller) external;
    function envBytes(string calldata name) external view returns (bytes memory value);
    function warp(uint256 timestamp) external;
    function etch(address target, bytes calldata code) external;
    function store(address target, bytes32 slot, bytes32 value) external;
    function load(address target, bytes32 slot) external view returns (bytes32);
}

/// @notice The cheat codes that make a symbolic value: any value of its type.
interface Svm {
    function createUint(uint256 bits, string calldata name) external returns (uint256);
    function createUint256(string calldata name) external returns (uint256);
    function createAddress(string calldata name) external returns (address);
    function createBytes(uint256 length, string calldata name) external returns (bytes memory);
    function createBytes32(string calldata name) external returns (bytes32);
    function createCalldata(string calldata contractName) external returns (bytes memory);
    function enableSymbolicStorage(address target) external;
}

abstract contract Cheats {
    Vm internal constant vm = Vm(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);
    Svm internal constant svm = Svm(0xF3993A62377BCd56AE39D773740A5390411E8BC9);

    /// @dev Both, without the branch of `&&`: each branch doubles what halmos explores.
    function both(bool a, bool b) internal pure returns (bool c) {
        assembly ("memory-safe") {
            c := and(a, b)
        }
    }

    /// @dev One at least, without the branch of `||`.
    function either(bool a, bool b) internal pure returns (bool c) {
        assembly ("memory-safe") {
            c := or(a, b)
        }
    }

    /// @dev One or the other, without a branch.
    function choose(bool condition, uint256 a, uint256 b) internal pure returns (uint256 c) {
        assembly ("memory-safe") {
            c := xor(b, and(xor(a, b), sub(0, condition)))
        }
    }
}
