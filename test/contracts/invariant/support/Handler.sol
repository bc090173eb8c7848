// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IEscrow} from "../../../../contracts/interfaces/IEscrow.sol";
import {IResolver} from "../../../../contracts/interfaces/IResolver.sol";
import {Escrow, EscrowAction, EscrowState, OpenAction, ResolvedBy} from "../../../../contracts/types/EscrowTypes.sol";
import {DepositMood, Mood} from "./MoodyToken.sol";
import {RoleHandlers} from "./RoleHandlers.sol";
import {equal, Unequal, vm} from "./Vm.sol";

/// @title The campaign's target, and the checks of the invariants
/// @notice The ids are those of the README beside the tests.
contract Handler is RoleHandlers {
    /// @notice Ends a trial whose effects must go.
    error TrialSucceeded();

    /// @dev Where accounts that the tokens don't pay draw their credits to at the end.
    address private constant REFUGE = address(0x0301);

    constructor() {
        _buildModel();
    }

    /// @notice The handlers; some several times, so that escrows are made and get far.
    function selectors() external pure returns (bytes4[] memory list) {
        bytes4[34] memory each = [
            this.submitDelivery.selector,
            this.accept.selector,
            this.finalize.selector,
            this.claimAbandoned.selector,
            this.refund.selector,
            this.refundMany.selector,
            this.openDispute.selector,
            this.ruleBySystem.selector,
            this.ruleByAdmin.selector,
            this.agree.selector,
            this.resolveExpired.selector,
            this.resolvePastTheResolver.selector,
            this.withdraw.selector,
            this.retryScore.selector,
            this.setSellerTerms.selector,
            this.gift.selector,
            this.setDepositMood.selector,
            this.setPrice.selector,
            this.breakScore.selector,
            this.pause.selector,
            this.listToken.selector,
            this.govern.selector,
            this.govern.selector,
            this.intrude.selector,
            this.pauseRulings.selector,
            this.proposeResolver.selector,
            this.proposeResolver.selector,
            this.acceptResolver.selector,
            this.revokeResolver.selector,
            this.withdrawTo.selector,
            this.withdraw.selector,
            this.retryScore.selector,
            this.retryScore.selector,
            this.refund.selector
        ];
        bytes4[6] memory often = [
            this.createEscrow.selector,
            this.advance.selector,
            this.createWithAuthorization.selector,
            this.advance.selector,
            this.setMood.selector,
            this.wait.selector
        ];
        list = new bytes4[](each.length + 5 * often.length);
        for (uint256 i = 0; i < each.length; ++i) list[i] = each[i];
        for (uint256 i = 0; i < 5 * often.length; ++i) list[each.length + i] = often[i % often.length];
    }

    /// @notice I1: what the escrow contract holds, less what was sent to it unasked, is what it owes.
    function checkSolvency() external view {
        for (uint256 t = 0; t < TOKENS; ++t) {
            uint256 held = tokens[t].balanceOf(address(escrow));
            equal(held - gifts[t], openLocked[t] + creditSum[t], "I1 balance less gifts, open escrows + credits");
        }
    }

    /// @notice I3: the contract's state is the model's (that it moved along the table is checked at each move).
    function checkState(uint256 index) public view {
        if (index >= deals.length) return;
        Escrow memory actual = escrow.getEscrow(deals[index].id);
        equal(uint256(actual.state), uint256(deals[index].state), "I3 state");
        equal(uint256(actual.state), uint256(deals[index].seen), "I3 state as last seen");
    }

    /// @notice I4: every score is the sum of its outcomes.
    function checkScores() external view {
        if (isScoreBroken) return;
        address[] memory list = _accounts();
        for (uint256 i = 0; i < list.length; ++i) {
            if (score.scoreOf(list[i]) != scores[list[i]]) revert Unequal("I4 score of account", i, 0);
            equal(score.maxJobValue(list[i]), _cap(scores[list[i]]), "I4 cap");
        }
    }

    /// @notice I5: the treasuries have 2% of every deposit, rounded up, and nothing else but what others drew to them.
    function checkFees() external view {
        for (uint256 t = 0; t < TOKENS; ++t) {
            uint256 expected = uint256(int256(fees[t]) + drawnToTreasuries[t]);
            equal(_owned(t, treasuries[0]) + _owned(t, treasuries[1]), expected, "I5 fees");
        }
    }

    /// @notice I6: every wallet and every credit is what the moves of its own escrows make it; nobody else gains.
    function checkGains() external view {
        address[] memory list = _accounts();
        for (uint256 t = 0; t < TOKENS; ++t) {
            for (uint256 i = 0; i < list.length; ++i) {
                equal(tokens[t].balanceOf(list[i]), balances[t][list[i]], "I6 balance");
                equal(escrow.creditOf(list[i], address(tokens[t])), credits[t][list[i]], "I6 credit");
            }
            equal(tokens[t].balanceOf(address(score)) + tokens[t].balanceOf(address(resolver)), 0, "I6 contracts");
        }
    }

    /// @notice I7: the terms of an escrow never change.
    function checkTerms(uint256 index) public view {
        if (index >= deals.length) return;
        Deal storage deal = deals[index];
        Escrow memory expected = Escrow({
            buyer: _trader(deal.buyer),
            seller: _trader(deal.seller),
            token: address(tokens[deal.token]),
            amount: deal.amount,
            fee: _fee(deal.amount),
            locked: _locked(deal.amount),
            state: deal.state,
            createdAt: deal.createdAt,
            deadline: deal.deadline,
            deliveredAt: deal.deliveredAt,
            disputedAt: deal.disputedAt,
            disputeWindow: deal.window,
            abandonmentGrace: deal.grace,
            criteriaHash: deal.criteria
        });
        bytes32 actual = keccak256(abi.encode(escrow.getEscrow(deal.id)));
        if (actual != keccak256(abi.encode(expected))) revert Unequal("I7 terms of deal", index, 0);
    }

    /// @notice I8: nextActions lists exactly the moves that are open or will open by themselves.
    function checkNextActions(uint256 index) public view {
        bytes32 actual = keccak256(abi.encode(escrow.nextActions(_idOf(index))));
        if (actual != keccak256(abi.encode(_actions(index)))) revert Unequal("I8 actions of deal", index, 0);
    }

    /// @notice I9: no callback ever got past the guard.
    function checkGuard() external view {
        for (uint256 t = 0; t < TOKENS; ++t) equal(tokens[t].breaches(), 0, "I9 breaches");
    }

    /// @notice I11: who gets the money, the contracts that decide and who may rule are those of the creation; nobody has
    /// a right to rule that was not there then.
    function checkReach(uint256 index) external view {
        if (index >= deals.length) return;
        if (_reach(index) != deals[index].reach) revert Unequal("I11 reach of deal", index, 0);
        equal(_rights(index) & ~deals[index].rights, 0, "I11 rights gained");
    }

    /// @notice I12: the holders of the roles in the second of the creation may rule, unless they were revoked, and
    /// nobody else.
    function checkRulers(uint256 index) public view {
        if (index >= deals.length) return;
        address[] memory list = _accounts();
        uint256 expected = 0;
        for (uint256 i = 0; i < 2 * list.length; ++i) {
            ResolvedBy role = ResolvedBy(i % 2);
            bool isRuler = list[i / 2] == _rulerOf(deals[index], role);
            if (isRuler && !tenures[role][list[i / 2]].isRevoked) expected |= 1 << i;
        }
        equal(_rights(index), expected, "I12 rights");
        for (uint256 i = 0; i < 2; ++i) {
            ResolvedBy role = ResolvedBy(i);
            equal(uint160(resolver.resolverOf(role)), uint160(holders[role]), "I12 holder");
            equal(uint160(resolver.pendingResolverOf(role)), uint160(proposed[role]), "I12 proposed holder");
        }
        equal(resolver.rulingsPaused() ? 1 : 0, areRulingsPaused ? 1 : 0, "I12 suspended");
    }

    /// @notice I13: whatever the roles have suspended, stopped, delisted and revoked, an agreement ends a dispute now,
    /// and the timeout in its second. Tried, and taken back.
    function checkExits(uint256 index) external {
        if (index >= deals.length || deals[index].state != EscrowState.Disputed) return;
        _expectTrial(abi.encodeCall(this.tryExit, (index, true)));
        _expectTrial(abi.encodeCall(this.tryExit, (index, false)));
        vm.warp(time);
    }

    /// @notice Part of I13; always reverts.
    function tryExit(uint256 index, bool byAgreement) external {
        _suspendEverything();
        vm.warp(byAgreement ? time : _boundary(index, false) + 1);
        bytes memory data =
            byAgreement
                ? _agreement(index, 37, time, Forgery.None)
                : abi.encodeCall(IEscrow.resolveExpired, (deals[index].id));
        vm.prank(stranger);
        (bool done, bytes memory answer) = (byAgreement ? address(resolver) : address(escrow)).call(data);
        if (!done) revert Surprise(bytes4(data), done, answer, "");
        equal(uint256(escrow.getEscrow(deals[index].id).state), uint256(EscrowState.Resolved), "I13 state");
        revert TrialSucceeded();
    }

    /// @notice Calls into the escrow contract that tokens tried during a transfer.
    function callbacks() external view returns (uint256 sum) {
        for (uint256 t = 0; t < TOKENS; ++t) sum += tokens[t].attempts();
    }

    /// @notice The deal that the last call was about.
    function last() external view returns (uint256) {
        return lastDeal;
    }

    /// @notice I10: at the end everybody can leave, with all suspended that the roles can suspend, and half of the
    /// accounts shut out by the tokens. Ends every open escrow, repeats every score, draws every credit; then nothing but
    /// gifts is left, and every escrow has paid exactly what was locked.
    function drain() external {
        _mend();
        _suspendEverything();
        for (uint256 i = 0; i < deals.length; i += 2) {
            if (deals[i].state == EscrowState.Disputed) _agree(i, stranger, i % 101, time, Forgery.None);
        }
        uint256 latest = time;
        for (uint256 i = 0; i < deals.length; ++i) {
            uint256 boundary = _boundary(i, false);
            if (boundary > latest) latest = boundary;
        }
        _warp(latest + 1);
        for (uint256 i = 0; i < deals.length; ++i) _leave(i);
        for (uint256 t = 0; t < TOKENS; ++t) {
            address[] memory list = _accounts();
            for (uint256 i = 0; i < list.length; ++i) {
                if (credits[t][list[i]] == 0) continue;
                bool isShutOut = _isShutOut(t, list[i]);
                vm.prank(list[i]);
                if (isShutOut) escrow.withdrawTo(address(tokens[t]), REFUGE);
                else escrow.withdraw(address(tokens[t]));
            }
            equal(tokens[t].balanceOf(address(escrow)), gifts[t], "I10 balance at the end");
        }
        for (uint256 i = 0; i < deals.length; ++i) {
            checkPaidOnce(i);
            checkState(i);
            checkTerms(i);
            checkNextActions(i);
            checkRulers(i);
        }
    }

    function _leave(uint256 index) private {
        EscrowState state = deals[index].state;
        if (state == EscrowState.Funded) _claimAbandoned(index, _buyerOf(index));
        if (state == EscrowState.Delivered) _finalize(index, stranger);
        if (state == EscrowState.Disputed) _resolveExpired(index, stranger);
        if (deals[index].pendingScore != 0) _retryScore(index, stranger);
    }

    function _mend() private {
        address[] memory list = _accounts();
        for (uint256 t = 0; t < TOKENS; ++t) {
            for (uint256 i = 0; i < list.length; ++i) tokens[t].setMood(list[i], i % 2 == 0 ? Mood.Fine : Mood.Reverts);
            tokens[t].setDepositMood(DepositMood.Fine);
            depositMoods[t] = DepositMood.Fine;
        }
        vm.etch(address(score), scoreProxyCode);
        isScoreBroken = false;
    }

    /// @dev Everything that the pauser and the owner can stop without an upgrade.
    function _suspendEverything() private {
        if (!areRulingsPaused) _call(pauser, address(resolver), abi.encodeCall(IResolver.pauseRulings, ()), "");
        if (!isPaused) _call(pauser, address(escrow), abi.encodeCall(IEscrow.pause, ()), "");
        (areRulingsPaused, isPaused) = (true, true);
        for (uint256 t = 0; t < TOKENS; ++t) {
            if (!isListed[t]) continue;
            _call(owner, address(escrow), abi.encodeCall(IEscrow.delistToken, (address(tokens[t]))), "");
            isListed[t] = false;
        }
        address[] memory list = _accounts();
        for (uint256 i = 0; i < 2 * list.length; ++i) {
            (ResolvedBy role, address account) = (ResolvedBy(i % 2), list[i / 2]);
            if (_isResolver(role, account)) _revokeResolver(role, owner, account);
        }
    }

    function _expectTrial(bytes memory data) private {
        (bool done, bytes memory answer) = address(this).call(data);
        if (done || bytes4(answer) != TrialSucceeded.selector) {
            assembly ("memory-safe") {
                revert(add(answer, 0x20), mload(answer))
            }
        }
    }

    function _actions(uint256 index) private view returns (OpenAction[] memory) {
        OpenAction[] memory none = new OpenAction[](0);
        if (index >= deals.length) return none;
        Deal storage deal = deals[index];
        uint256 end = _boundary(index, false);
        uint256 never = type(uint256).max;
        OpenAction[] memory all = new OpenAction[](3);
        if (deal.state == EscrowState.Funded) {
            address seller = _trader(deal.seller);
            all[0] = OpenAction(EscrowAction.SubmitDelivery, seller, deal.createdAt, deal.deadline);
            all[1] = OpenAction(EscrowAction.Refund, seller, deal.createdAt, end);
            all[2] = OpenAction(EscrowAction.ClaimAbandoned, _trader(deal.buyer), end + 1, never);
            return
                _from(
                    all,
                    time > end
                        ? 2
                        : time > deal.deadline
                            ? 1
                            : 0,
                    3
                );
        }
        if (deal.state == EscrowState.Delivered) {
            all[0] = OpenAction(EscrowAction.Accept, _trader(deal.buyer), deal.deliveredAt, end);
            all[1] = OpenAction(EscrowAction.OpenDispute, _trader(deal.buyer), deal.deliveredAt, end);
            all[2] = OpenAction(EscrowAction.Finalize, address(0), end + 1, never);
            return _from(all, time > end ? 2 : 0, 3);
        }
        if (deal.state == EscrowState.Disputed) {
            all[0] = OpenAction(EscrowAction.Resolve, address(resolver), deal.disputedAt, never);
            all[1] = OpenAction(EscrowAction.ResolveExpired, address(0), end + 1, never);
            return _from(all, 0, 2);
        }
        if (deal.pendingScore == 0) return none;
        all[0] = OpenAction(EscrowAction.RetryScore, address(0), 0, never);
        return _from(all, 0, 1);
    }

    function _from(
        OpenAction[] memory all,
        uint256 start,
        uint256 end
    ) private pure returns (OpenAction[] memory some) {
        some = new OpenAction[](end - start);
        for (uint256 i = start; i < end; ++i) some[i - start] = all[i];
    }
}
