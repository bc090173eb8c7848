// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IEscrow} from "../../../../contracts/interfaces/IEscrow.sol";
import {
    DisputeOutcome,
    EscrowState,
    ResolvedBy,
    ScoreOutcome,
    SellerTerms
} from "../../../../contracts/types/EscrowTypes.sol";
import {DepositMood, Mood} from "./MoodyToken.sol";
import {MoveHandlers} from "./MoveHandlers.sol";
import {vm} from "./Vm.sol";

/// @title Time, tokens, prices, credits and scores
abstract contract WorldHandlers is MoveHandlers {
    /// @notice Credits that were drawn, those that an account drew to another whom the token pays, and scores that were
    /// repeated.
    uint256 public withdrawals;
    uint256 public rescues;
    uint256 public repeatedScores;

    /// @dev Often to the last second of something, or to the one after it.
    function wait(uint256 seed) external {
        uint256 index = _pick(_mix(seed));
        seed = _mix(seed);
        // The far boundaries end every other deal too, so they come seldom.
        bool isFar = index < deals.length && _boundary(index, false) > time + 100_000;
        if (index >= deals.length || seed % (isFar ? 8 : 2) != 0) {
            _warp(time + ((seed >> 16) % 200));
            return;
        }
        uint256 boundary = _boundary(index, (seed >> 16) % 2 == 0) + ((seed >> 24) % 2);
        if (boundary > time) _warp(boundary);
    }

    /// @dev Somebody does the next sensible thing, so that campaigns get far.
    function advance(uint256 seed) external {
        uint256 index = _pick(_mix(seed));
        if (index >= deals.length) return;
        EscrowState state = deals[index].state;
        uint256 kind = _mix(seed) % 8;
        if (state == EscrowState.Funded) _submitDelivery(index, _sellerOf(index));
        else if (state == EscrowState.Delivered && kind < 5) _openDispute(index, _buyerOf(index));
        else if (state == EscrowState.Delivered) _accept(index, _buyerOf(index));
        else if (state == EscrowState.Disputed) _endDispute(index, kind, DisputeOutcome(_mix(seed) % 3));
        else _retryScore(index, stranger);
    }

    function withdraw(uint256 seed) external {
        (uint256 token, address caller) = _pickCredit(_mix(seed));
        bytes memory expected = _ofDrawing(token, caller, caller);
        _call(caller, address(escrow), abi.encodeCall(IEscrow.withdraw, (address(tokens[token]))), expected);
        if (expected.length == 0) _drawn(token, caller, caller);
    }

    /// @dev To anybody, also to the zero address and the escrow contract; twice out of three times by an account whom
    /// the token does not pay, if there is one.
    function withdrawTo(uint256 seed) external {
        (uint256 token, address caller) = _pickCredit(_mix(seed));
        seed = _mix(seed);
        address[] memory list = _accounts();
        for (uint256 i = 0; seed % 3 != 0 && i < list.length; ++i) {
            if (credits[token][list[i]] != 0 && _isShutOut(token, list[i])) caller = list[i];
        }
        address recipient = list[(seed >> 8) % list.length];
        if ((seed >> 16) % 12 == 0) recipient = address(0);
        if ((seed >> 16) % 12 == 1) recipient = address(escrow);
        bytes memory expected = _ofDrawing(token, caller, recipient);
        bytes memory data = abi.encodeCall(IEscrow.withdrawTo, (address(tokens[token]), recipient));
        _call(caller, address(escrow), data, expected);
        if (expected.length == 0) _drawn(token, caller, recipient);
    }

    function retryScore(uint256 seed) external {
        uint256 index = _pick(_mix(seed));
        for (uint256 i = 0; _mix(seed) % 4 != 0 && i < deals.length; ++i) {
            if (deals[i].pendingScore != 0) index = i;
        }
        _retryScore(index, _caller(_mix(seed), stranger));
    }

    function setSellerTerms(uint256 seed) external {
        seed = _mix(seed);
        address seller = _trader(seed % TRADERS);
        SellerTerms memory own = SellerTerms(
            uint64((seed >> 32) % 4_000_000),
            uint32((seed >> 64) % 20_000),
            (seed >> 8) % 8 == 0
        );
        if ((seed >> 16) % 2 == 0) own = SellerTerms(0, 0, false);
        bytes memory data = abi.encodeCall(
            IEscrow.setSellerTerms,
            (own.minAmountUsd, own.minDeliverySeconds, own.paused)
        );
        _call(seller, address(escrow), data, "");
        asked[seller] = own;
    }

    /// @dev Tokens that somebody sends to the escrow contract unasked.
    function gift(uint256 seed) external {
        uint256 token = _mix(seed) % TOKENS;
        uint256 amount = _mix(seed) % 1e18;
        tokens[token].mint(address(escrow), amount);
        gifts[token] += amount;
    }

    function setMood(uint256 seed) external {
        seed = _mix(seed);
        address[] memory list = _accounts();
        Mood chosen = (seed >> 8) % 3 == 0 ? Mood.Fine : Mood(1 + ((seed >> 16) % 10));
        tokens[seed % TOKENS].setMood(list[(seed >> 32) % list.length], chosen);
        // A callback has something to name.
        if (deals.length > 0) tokens[seed % TOKENS].setReentry(escrow, deals[lastDeal].id);
    }

    function setDepositMood(uint256 seed) external {
        seed = _mix(seed);
        uint256 token = seed % TOKENS;
        depositMoods[token] = (seed >> 8) % 4 != 0 ? DepositMood.Fine : DepositMood((seed >> 16) % 6);
        tokens[token].setDepositMood(depositMoods[token]);
    }

    function setPrice(uint256 seed) external {
        seed = _mix(seed);
        uint256 token = seed % TOKENS;
        int256 plain = _plainPrice(token);
        int256[6] memory answers = [
            plain,
            plain + int256((seed >> 128) % 1e6),
            plain / 3,
            int256(0),
            -plain,
            int256(type(int192).max) + 1
        ];
        uint256[5] memory times = [time, time - MAX_PRICE_AGE, time - MAX_PRICE_AGE - 1, 0, time + 1];
        int256 answer = answers[(seed >> 8) % ((seed >> 40) % 4 == 0 ? 6 : 3)];
        feeds[token].set(answer, (seed >> 16) % 2 == 0 ? time : times[(seed >> 24) % 5]);
        feeds[token].setAnsweredInRound((seed >> 32) % 8 == 0 ? 1 : 2);
    }

    /// @dev The score contract reverts or burns its gas for a while.
    function breakScore(uint256 seed) external {
        seed = _mix(seed);
        isScoreBroken = seed % 4 == 0;
        bytes memory broken = (seed >> 8) % 2 == 0 ? bytes(hex"fe") : bytes(hex"5f5ffd");
        vm.etch(address(score), isScoreBroken ? broken : scoreProxyCode);
    }

    function _retryScore(uint256 index, address caller) internal {
        bytes memory expected = _ofRetry(index);
        _move(index, caller, address(escrow), abi.encodeCall(IEscrow.retryScore, (_idOf(index))), expected);
        if (expected.length != 0) return;
        ++repeatedScores;
        _expectScores(deals[index], ScoreOutcome(deals[index].pendingScore - 1));
    }

    function _warp(uint256 to) internal {
        time = to;
        vm.warp(to);
    }

    /// @dev The last second of what the deal waits for.
    function _boundary(uint256 index, bool isEarlier) internal view returns (uint256) {
        Deal storage deal = deals[index];
        if (deal.state == EscrowState.Delivered) return deal.deliveredAt + deal.window;
        if (deal.state == EscrowState.Disputed) return deal.disputedAt + RESOLUTION_TIMEOUT;
        return isEarlier ? deal.deadline : deal.deadline + deal.grace;
    }

    function _isShutOut(uint256 token, address account) internal view returns (bool) {
        return tokens[token].moodFor(account) > Mood.ReturnsShort;
    }

    /// @dev The next sensible end of a dispute: a ruling, or an agreement where there is no ruling to be had.
    function _endDispute(uint256 index, uint256 kind, DisputeOutcome outcome) private {
        address ruler = deals[index].systemRuler;
        bool isRulable = !areRulingsPaused && _isResolver(ResolvedBy.System, ruler);
        if (kind < (isRulable ? 2 : 6)) _agree(index, stranger, 30 + kind, time + kind, Forgery.None);
        else _ruleBySystem(index, ruler == address(0) ? stranger : ruler, outcome, bytes32(uint256(1)));
    }

    /// @dev An account with a waiting credit is more likely to act.
    function _pickCredit(uint256 seed) private view returns (uint256 token, address account) {
        token = seed % TOKENS;
        address[] memory list = _accounts();
        account = list[(seed >> 8) % list.length];
        for (uint256 i = 0; (seed >> 16) % 4 != 0 && credits[token][account] == 0 && i < list.length; ++i) {
            account = list[i];
        }
    }

    function _drawn(uint256 token, address account, address recipient) private {
        ++withdrawals;
        if (_isShutOut(token, account)) ++rescues;
        _expectDrawing(token, account, recipient);
    }
}
