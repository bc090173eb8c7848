// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {OwnableUpgradeable} from "@openzeppelin/contracts-upgradeable/access/OwnableUpgradeable.sol";
import {UUPSUpgradeable} from "@openzeppelin/contracts/proxy/utils/UUPSUpgradeable.sol";

import {IEscrow} from "../../../../contracts/interfaces/IEscrow.sol";
import {IResolver} from "../../../../contracts/interfaces/IResolver.sol";
import {IScore} from "../../../../contracts/interfaces/IScore.sol";
import {
    DisputeOutcome,
    EscrowState,
    ResolvedBy,
    ScoreOutcome,
    SellerTerms,
    TokenConfig
} from "../../../../contracts/types/EscrowTypes.sol";
import {DepositMood, Mood} from "./MoodyToken.sol";
import {MoveHandlers} from "./MoveHandlers.sol";
import {vm} from "./Vm.sol";

/// @title Time, tokens, prices, credits, roles and intruders
abstract contract WorldHandlers is MoveHandlers {
    /// @notice Credits that were drawn and scores that were repeated.
    uint256 public withdrawals;
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
        else if (state == EscrowState.Delivered && kind < 3) _openDispute(index, _buyerOf(index));
        else if (state == EscrowState.Delivered) _accept(index, _buyerOf(index));
        else if (state == EscrowState.Disputed) {
            _ruleBySystem(index, systemResolver, DisputeOutcome(_mix(seed) % 3), bytes32(uint256(1)));
        } else _retryScore(index, stranger);
    }

    function withdraw(uint256 seed) external {
        seed = _mix(seed);
        uint256 token = seed % TOKENS;
        address[] memory list = _accounts();
        address caller = list[(seed >> 8) % list.length];
        // An account with a waiting credit is more likely to act.
        for (uint256 i = 0; (seed >> 16) % 4 != 0 && credits[token][caller] == 0 && i < list.length; ++i) {
            caller = list[i];
        }
        bytes memory expected = _ofWithdrawal(token, caller);
        _call(caller, address(escrow), abi.encodeCall(IEscrow.withdraw, (address(tokens[token]))), expected);
        if (expected.length != 0) return;
        ++withdrawals;
        balances[token][caller] += credits[token][caller];
        creditSum[token] -= credits[token][caller];
        credits[token][caller] = 0;
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
        uint256 token = 1 + (seed % (TOKENS - 1));
        int256 plain = token == 1 ? int256(3_000e8) : int256(0.5e18);
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
        vm.etch(address(score), isScoreBroken ? broken : scoreCode);
    }

    function pause(uint256 seed) external {
        bool wanted = !isPaused && _mix(seed) % 4 == 0;
        if (wanted == isPaused) {
            bytes4 refusal = wanted ? IEscrow.NewEscrowsPaused.selector : IEscrow.NewEscrowsNotPaused.selector;
            _call(pauser, address(escrow), _pauseData(wanted), abi.encodeWithSelector(refusal));
            return;
        }
        _call(pauser, address(escrow), _pauseData(wanted), "");
        isPaused = wanted;
    }

    function listToken(uint256 seed) external {
        seed = _mix(seed);
        uint256 token = seed % TOKENS;
        bool wanted = !isListed[token] || (seed >> 8) % 4 != 0;
        bytes memory data =
            wanted
                ? abi.encodeCall(IEscrow.listToken, (address(tokens[token]), _config(token)))
                : abi.encodeCall(IEscrow.delistToken, (address(tokens[token])));
        _call(owner, address(escrow), data, "");
        isListed[token] = wanted;
    }

    /// @dev The owner changes the treasury, sets the score and resolver contracts again, hands the pauser's and the
    /// resolvers' roles to somebody else, or upgrades a contract to other code of the same logic.
    function govern(uint256 seed) external {
        seed = _mix(seed);
        uint256 kind = seed % 8;
        if (kind < 2) {
            treasury = kind;
            _call(owner, address(escrow), abi.encodeCall(IEscrow.setTreasury, (treasuries[treasury])), "");
        }
        if (kind == 2) _call(owner, address(escrow), abi.encodeCall(IEscrow.setScoreContract, (address(score))), "");
        if (kind == 3) {
            _call(owner, address(escrow), abi.encodeCall(IEscrow.setResolverContract, (address(resolver))), "");
        }
        if (kind == 4) {
            _call(owner, address(escrow), abi.encodeCall(IEscrow.transferPauser, (successor)), "");
            _call(successor, address(escrow), abi.encodeCall(IEscrow.acceptPauser, ()), "");
            (pauser, successor) = (successor, pauser);
        }
        if (kind == 5) {
            _succeed(ResolvedBy.System);
            (systemResolver, successor) = (successor, systemResolver);
        }
        if (kind == 6) {
            _succeed(ResolvedBy.Admin);
            (adminResolver, successor) = (successor, adminResolver);
        }
        if (kind == 7) {
            uint256 next = (seed >> 8) % 2;
            bytes memory toEscrow = abi.encodeCall(UUPSUpgradeable.upgradeToAndCall, (escrowCode[next], ""));
            bytes memory toResolver = abi.encodeCall(UUPSUpgradeable.upgradeToAndCall, (resolverCode[next], ""));
            _call(owner, address(escrow), toEscrow, "");
            _call(owner, address(resolver), toResolver, "");
        }
    }

    /// @dev Accounts other than the owner try what only the owner may do; the pauser and the resolvers try it too.
    function intrude(uint256 seed) external {
        seed = _mix(seed);
        address[] memory list = _accounts();
        address caller = list[(seed >> 8) % list.length];
        if (caller == owner) caller = stranger;
        bytes memory expected = abi.encodeWithSelector(OwnableUpgradeable.OwnableUnauthorizedAccount.selector, caller);
        bytes memory upgrade = abi.encodeCall(UUPSUpgradeable.upgradeToAndCall, (address(tokens[0]), ""));
        uint256 kind = seed % 9;
        if (kind == 0) _call(caller, address(escrow), upgrade, expected);
        if (kind == 1) _call(caller, address(score), upgrade, isScoreBroken ? ANY : expected);
        if (kind == 2) _call(caller, address(resolver), upgrade, expected);
        if (kind == 3) _call(caller, address(escrow), abi.encodeCall(IEscrow.setTreasury, (caller)), expected);
        if (kind == 4) _call(caller, address(escrow), abi.encodeCall(IEscrow.setScoreContract, (caller)), expected);
        if (kind == 5) _call(caller, address(escrow), abi.encodeCall(IEscrow.setResolverContract, (caller)), expected);
        if (kind == 6) _call(caller, address(escrow), abi.encodeCall(IEscrow.transferPauser, (caller)), expected);
        if (kind == 7) {
            bytes memory data = abi.encodeCall(IResolver.transferResolver, (ResolvedBy.System, caller));
            _call(caller, address(resolver), data, expected);
        }
        if (kind == 8) {
            bytes memory data = abi.encodeCall(IScore.recordOutcome, (0, caller, caller, ScoreOutcome.Released));
            expected = abi.encodeWithSelector(IScore.CallerNotEscrow.selector, caller, address(escrow));
            _call(caller, address(score), data, isScoreBroken ? ANY : expected);
        }
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

    function _succeed(ResolvedBy role) private {
        _call(owner, address(resolver), abi.encodeCall(IResolver.transferResolver, (role, successor)), "");
        _call(successor, address(resolver), abi.encodeCall(IResolver.acceptResolver, (role)), "");
    }

    function _pauseData(bool wanted) private pure returns (bytes memory) {
        return wanted ? abi.encodeCall(IEscrow.pause, ()) : abi.encodeCall(IEscrow.unpause, ());
    }
}
