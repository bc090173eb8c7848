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
        LongAnswer
    }

    Mood public mood;
    uint256 public recorded;

    error ScoreBroken();

    /// @notice Changes what `recordOutcome` does.
    function setMood(Mood newMood) external {
        mood = newMood;
    }

    /// @notice Fails in the way of the mood.
    function recordOutcome(bytes32, address, address, ScoreOutcome) external {
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
