// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ScoreOutcome} from "../types/EscrowTypes.sol";

/// @title A score contract that fails
/// @notice What the escrow contract must survive in place of the real one.
contract HostileScore {
    enum Mood {
        Records,
        Reverts,
        BurnsGas,
        LongAnswer,
        NeedsGas
    }

    /// @notice What is there when an update begins that was called with its 150,000 gas, rounded down: the way into the
    /// function has cost a few hundred.
    uint256 public constant NEEDED_GAS = 148_000;

    Mood public mood;
    uint256 public recorded;

    error ScoreBroken();
    error TooLittleGas(uint256 available, uint256 needed);

    /// @notice Changes what `recordOutcome` does.
    function setMood(Mood newMood) external {
        mood = newMood;
    }

    /// @notice Fails in the way of the mood.
    function recordOutcome(bytes32, address, address, ScoreOutcome) external {
        uint256 available = gasleft();
        if (mood == Mood.NeedsGas && available < NEEDED_GAS) revert TooLittleGas(available, NEEDED_GAS);
        if (mood == Mood.Reverts) revert ScoreBroken();
        if (mood == Mood.BurnsGas) {
            while (gasleft() > 0) {}
        }
        if (mood == Mood.LongAnswer) {
            assembly ("memory-safe") {
                revert(0, 100000)
            }
        }
        ++recorded;
    }

    /// @notice No cap.
    function jobValueCap(address buyer, address) external pure returns (uint256, address) {
        return (type(uint256).max, buyer);
    }
}
