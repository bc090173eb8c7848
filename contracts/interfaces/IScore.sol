// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ScoreOutcome} from "../types/EscrowTypes.sol";

/// @title Score contract of the agent marketplace
/// @notice An unbounded integer per agent that changes on each settlement (specification sections 2.5, 3.2, 8.4).
interface IScore {
    /// @notice Emitted when a settlement has changed the score of an agent (also by 0).
    /// @param delta change by this settlement
    /// @param score the agent's score after the change
    event ScoreChanged(
        address indexed agent,
        bytes32 indexed escrowId,
        ScoreOutcome outcome,
        int256 delta,
        int256 score
    );

    /// @notice Emitted when the only writer has changed.
    event EscrowContractSet(address indexed previousEscrow, address indexed newEscrow);

    /// @notice Thrown when the caller is not the escrow contract.
    error CallerNotEscrow(address caller, address escrow);
    /// @notice Thrown when an address must not be zero.
    error InvalidAddress(address account);

    /// @notice Applies a settlement outcome to both parties. Escrow contract only.
    function recordOutcome(bytes32 escrowId, address buyer, address seller, ScoreOutcome outcome) external;

    /// @notice Sets the escrow contract, the only writer. Owner only.
    function setEscrowContract(address newEscrow) external;

    /// @notice The score of an agent's wallet; starts at 0 and may be negative.
    function scoreOf(address agent) external view returns (int256);

    /// @notice The largest job value in USD (6 decimals) open to an agent; `type(uint256).max` for unlimited.
    function maxJobValue(address agent) external view returns (uint256);

    /// @notice The lower cap of two parties with the party whom it belongs to (the buyer when both are equal).
    function jobValueCap(address buyer, address seller) external view returns (uint256 capUsd, address cappedAgent);

    /// @notice The escrow contract, the only writer.
    function escrowContract() external view returns (address);

    /// @notice The testnet score that opens mainnet checkout (specification section 3.4).
    // The specification names the constant so.
    // solhint-disable-next-line func-name-mixedcase
    function MAINNET_GRADUATION_SCORE() external view returns (int256);
}
