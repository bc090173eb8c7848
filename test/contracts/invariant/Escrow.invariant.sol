// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {EscrowState} from "../../../contracts/types/EscrowTypes.sol";
import {Handler} from "./support/Handler.sol";
import {reached} from "./support/Vm.sol";

/// @title Invariants of the marketplace's contracts
/// @notice Each function is a campaign of its own over all handlers; the ids are explained in the README beside.
contract EscrowInvariantTest {
    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    Handler private handler;

    function setUp() public {
        handler = new Handler();
    }

    /// @notice Contracts that a campaign calls.
    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(handler);
    }

    /// @notice Handlers that a campaign calls.
    function targetSelectors() external view returns (FuzzSelector[] memory targets) {
        targets = new FuzzSelector[](1);
        targets[0] = FuzzSelector(address(handler), handler.selectors());
    }

    /// @notice A campaign is worth something only when it gets everywhere: into every state, past every kind of
    /// refusal, to credits drawn, scores repeated, callbacks stopped, roles handed over and rulings refused.
    function test_CampaignsReachEveryStateAndEveryTrouble() public {
        bytes4[] memory selectors = handler.selectors();
        for (uint256 i = 0; i < 3_000; ++i) {
            uint256 seed = uint256(keccak256(abi.encode("walk", i)));
            bytes4 selector = selectors[seed % selectors.length];
            (bool done, bytes memory answer) = address(handler).call(abi.encodePacked(selector, seed));
            if (!done) {
                assembly ("memory-safe") {
                    revert(add(answer, 0x20), mload(answer))
                }
            }
        }
        reached(handler.entered(EscrowState.Funded), 60, "deals funded");
        reached(handler.entered(EscrowState.Delivered), 20, "deals delivered");
        reached(handler.entered(EscrowState.Released), 5, "deals released");
        reached(handler.entered(EscrowState.Refunded), 5, "deals refunded");
        reached(handler.entered(EscrowState.Disputed), 5, "deals disputed");
        reached(handler.entered(EscrowState.Resolved), 5, "deals resolved");
        reached(handler.entered(EscrowState.Abandoned), 3, "deals abandoned");
        reached(handler.successes(), 300, "calls that succeeded");
        reached(handler.refusals(), 300, "calls that were refused");
        reached(handler.withdrawals(), 3, "credits drawn");
        reached(handler.repeatedScores(), 3, "scores repeated");
        reached(handler.callbacks(), 30, "callbacks stopped");
        reached(handler.rescues(), 3, "credits drawn to others");
        reached(handler.handOvers(), 5, "resolver roles handed over");
        reached(handler.sameSecondHandOvers(), 3, "hand-overs in the second of a creation");
        reached(handler.upgrades(), 3, "upgrades");
        reached(handler.rulingsOfFormerHolders(), 1, "rulings of former holders");
        reached(handler.rulingsOutsideTenure(), 3, "rulings outside a tenure refused");
        reached(handler.rulingsOfParties(), 1, "rulings of parties refused");
        reached(handler.rulingsOfRevoked(), 3, "rulings of revoked holders refused");
        reached(handler.suspendedRulings(), 3, "suspended rulings refused");
        reached(handler.endedWithoutRulings(), 3, "disputes ended while rulings were suspended");
        handler.drain();
    }

    function invariant_I1_BalanceLessGiftsIsOpenEscrowsAndCredits() public view {
        handler.checkSolvency();
    }

    function invariant_I2_EveryUnitPaidInIsPaidOutOnce() public view {
        handler.checkPaidOnce(handler.last());
    }

    function invariant_I3_StatesMoveOnlyAlongTheTable() public view {
        handler.checkState(handler.last());
    }

    function invariant_I4_ScoresAreTheSumOfOutcomes() public view {
        handler.checkScores();
    }

    function invariant_I5_FeeIsTwoPercentRoundedUp() public view {
        handler.checkFees();
    }

    function invariant_I6_NobodyButThePartiesGains() public view {
        handler.checkGains();
    }

    function invariant_I7_TermsNeverChange() public view {
        handler.checkTerms(handler.last());
    }

    function invariant_I8_NextActionsAreTheOpenMoves() public view {
        handler.checkNextActions(handler.last());
    }

    function invariant_I9_NoCallbackPassesTheGuard() public view {
        handler.checkGuard();
    }

    function invariant_I11_NoRoleChangesWhoGetsTheMoney() public view {
        handler.checkReach(handler.last());
    }

    function invariant_I12_WhoMayRuleIsFixedAtCreation() public view {
        handler.checkRulers(handler.last());
    }

    function invariant_I13_NothingSuspendedBlocksAgreementOrTimeout() public {
        handler.checkExits(handler.last());
    }

    /// @notice I10: after every run of every campaign, everybody can leave.
    function afterInvariant() public {
        handler.drain();
    }
}
