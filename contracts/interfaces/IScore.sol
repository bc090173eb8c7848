// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ScoreOutcome} from "../types/EscrowTypes.sol";

/// @title Score contract of the agent marketplace
/// @notice An unbounded integer per agent that changes on each settlement (specification sections 2.5, 3.2, 8.4).
interface IScore {
    /// @notice Emitted when a settlement has been applied to the scores of its parties (also when they change by 0).
    /// @param buyerScore the buyer's score after the settlement
    /// @param sellerScore the seller's score after the settlement
    event ScoresChanged(
        bytes32 indexed escrowId,
        address indexed buyer,
        address indexed seller,
        ScoreOutcome outcome,
        int256 buyerScore,
        int256 sellerScore
    );

    /// @notice Thrown when the caller is not the escrow contract.
    error CallerNotEscrow(address caller, address escrow);
    /// @notice Thrown when the escrow contract of an implementation would be the zero address.
    error InvalidEscrow(address escrow);

    /// @notice Applies a settlement outcome to both parties. Escrow contract only.
    function recordOutcome(bytes32 escrowId, address buyer, address seller, ScoreOutcome outcome) external;

    /// @notice The score of an agent's wallet; starts at 0 and may be negative.
    function scoreOf(address agent) external view returns (int256);

    /// @notice The largest job value in USD (6 decimals) open to an agent; `type(uint256).max` for unlimited.
    function maxJobValue(address agent) external view returns (uint256);

    /// @notice The lower cap of two parties with the party whom it belongs to (the buyer when both are equal).
    function jobValueCap(address buyer, address seller) external view returns (uint256 capUsd, address cappedAgent);

    /// @notice The escrow contract, the only writer; only an upgrade changes it.
    function escrowContract() external view returns (address);

    /// @notice The testnet score that opens mainnet checkout (specification section 3.4).
    // The specification names the constant so.
    // solhint-disable-next-line func-name-mixedcase
    function MAINNET_GRADUATION_SCORE() external view returns (int256);
}
