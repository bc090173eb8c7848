// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable2StepUpgradeable} from "@openzeppelin/contracts-upgradeable/access/Ownable2StepUpgradeable.sol";
import {OwnableUpgradeable} from "@openzeppelin/contracts-upgradeable/access/OwnableUpgradeable.sol";
import {Initializable} from "@openzeppelin/contracts/proxy/utils/Initializable.sol";
import {UUPSUpgradeable} from "@openzeppelin/contracts/proxy/utils/UUPSUpgradeable.sol";

import {IEscrow} from "../../../../contracts/interfaces/IEscrow.sol";
import {IResolver} from "../../../../contracts/interfaces/IResolver.sol";
import {IScore} from "../../../../contracts/interfaces/IScore.sol";
import {ResolvedBy, ScoreOutcome, TokenConfig} from "../../../../contracts/types/EscrowTypes.sol";
import {WorldHandlers} from "./WorldHandlers.sol";

/// @title The owner, the pauser, the holders of the resolver roles, and intruders
/// @notice After each call the campaign's checks look at some deal that was there before: no role reaches into it.
abstract contract RoleHandlers is WorldHandlers {
    /// @notice Hand-overs of a resolver role, those of them in a second in which an escrow had been created, and
    /// upgrades.
    uint256 public handOvers;
    uint256 public sameSecondHandOvers;
    uint256 public upgrades;

    modifier checksSomeDeal(uint256 seed) {
        _;
        uint256 index = _pick(_mix(seed));
        if (index < deals.length) lastDeal = index;
    }

    function pause(uint256 seed) external checksSomeDeal(seed) {
        bool wanted = _mix(seed) % 4 == 0;
        address caller = _caller(_mix(seed), pauser);
        bytes memory expected = _ofPausing(caller, wanted);
        _call(
            caller,
            address(escrow),
            wanted ? abi.encodeCall(IEscrow.pause, ()) : abi.encodeCall(IEscrow.unpause, ()),
            expected
        );
        if (expected.length == 0) isPaused = wanted;
    }

    function pauseRulings(uint256 seed) external checksSomeDeal(seed) {
        bool wanted = _mix(seed) % 3 == 0;
        address caller = _caller(_mix(seed), pauser);
        bytes memory expected = _ofPausingRulings(caller, wanted);
        bytes memory data =
            wanted ? abi.encodeCall(IResolver.pauseRulings, ()) : abi.encodeCall(IResolver.unpauseRulings, ());
        _call(caller, address(resolver), data, expected);
        if (expected.length == 0) areRulingsPaused = wanted;
    }

    /// @dev The owner proposes somebody for a resolver role, often a trader, who half of the time accepts at once.
    function proposeResolver(uint256 seed) external checksSomeDeal(seed) {
        ResolvedBy role = ResolvedBy(_mix(seed) % 2);
        address account = _anybody(_mix(seed));
        if (_mix(seed) % 2 == 0) account = _trader(_mix(seed) % TRADERS);
        if (_mix(seed) % 16 == 0) account = address(0);
        address caller = _caller(_mix(seed), owner);
        bytes memory expected = _ofProposal(role, caller, account);
        _call(caller, address(resolver), abi.encodeCall(IResolver.transferResolver, (role, account)), expected);
        if (expected.length != 0) return;
        proposed[role] = account;
        if (_mix(seed) % 2 == 0 && account != address(0)) _acceptResolver(role, account);
    }

    function acceptResolver(uint256 seed) external checksSomeDeal(seed) {
        ResolvedBy role = ResolvedBy(_mix(seed) % 2);
        address caller = _caller(_mix(seed), proposed[role]);
        _acceptResolver(role, caller == address(0) ? stranger : caller);
    }

    /// @dev Present and former holders, sometimes again, and accounts that never held the role.
    function revokeResolver(uint256 seed) external checksSomeDeal(seed) {
        ResolvedBy role = ResolvedBy(_mix(seed) % 2);
        address account = _mix(seed) % 8 == 0 ? holders[role] : _anybody(_mix(seed));
        _revokeResolver(role, _caller(_mix(seed), owner), account);
    }

    /// @dev The owner delists tokens and lists them again, rightly and wrongly, with another least deposit, with and
    /// without their feed.
    function listToken(uint256 seed) external checksSomeDeal(seed) {
        seed = _mix(seed);
        uint256 token = seed % TOKENS;
        if ((seed >> 8) % 4 == 0) {
            bytes memory refusal =
                isListed[token]
                    ? bytes("")
                    : abi.encodeWithSelector(IEscrow.TokenNotListed.selector, address(tokens[token]));
            _call(owner, address(escrow), abi.encodeCall(IEscrow.delistToken, (address(tokens[token]))), refusal);
            isListed[token] = false;
            return;
        }
        uint96 least = [uint96(10_000), 1e13, 2][token] * uint96(1 + ((seed >> 24) % 3));
        bool byFeed = (seed >> 32) % 4 == 0 ? !hasFeed[token] : hasFeed[token];
        TokenConfig memory config = TokenConfig({
            feed: byFeed ? address(feeds[token]) : address(0),
            maxPriceAge: byFeed ? MAX_PRICE_AGE : 0,
            decimals: tokens[token].decimals(),
            listed: false,
            minAmount: least
        });
        bytes memory expected = _spoilListing(config, token, (seed >> 16) % 10);
        _call(owner, address(escrow), abi.encodeCall(IEscrow.listToken, (address(tokens[token]), config)), expected);
        if (expected.length == 0) (isListed[token], leastDeposits[token], hasFeed[token]) = (true, least, byFeed);
    }

    /// @dev The owner changes the treasury or proposes a pauser, a pauser accepts, the ownership passes on, or a contract
    /// gets other code of the same logic with the same immutables.
    function govern(uint256 seed) external checksSomeDeal(seed) {
        uint256 kind = _mix(seed) % 7;
        if (kind == 0) _setTreasury(_mix(seed));
        if (kind == 1) _proposePauser(_anybody(_mix(seed)), _caller(_mix(seed), owner));
        if (kind == 2 || kind == 3) _acceptPauser(_caller(_mix(seed), proposedPauser));
        if (kind == 4) _handOnOwnership(_anybody(_mix(seed)));
        if (kind > 4) _upgrade(_mix(seed));
    }

    /// @dev Accounts other than the owner try what only the owner may do, and a second initialization; the pauser and
    /// the resolvers try it too.
    function intrude(uint256 seed) external checksSomeDeal(seed) {
        seed = _mix(seed);
        address caller = _anybody(seed >> 8);
        bytes memory expected = abi.encodeWithSelector(OwnableUpgradeable.OwnableUnauthorizedAccount.selector, caller);
        bytes memory upgrade = abi.encodeCall(UUPSUpgradeable.upgradeToAndCall, (address(tokens[0]), ""));
        uint256 kind = seed % 10;
        if (kind < 6 && caller == owner) return;
        if (kind == 0) _call(caller, address(escrow), upgrade, expected);
        if (kind == 1 && !isScoreBroken) _call(caller, address(score), upgrade, expected);
        if (kind == 2) _call(caller, address(resolver), upgrade, expected);
        if (kind == 3) _call(caller, address(escrow), abi.encodeCall(IEscrow.setTreasury, (caller)), expected);
        if (kind == 4) {
            _call(caller, address(escrow), abi.encodeCall(IEscrow.delistToken, (address(tokens[0]))), expected);
        }
        if (kind == 5) {
            bytes memory data = abi.encodeCall(IEscrow.listToken, (address(tokens[0]), _config(0)));
            _call(caller, address(escrow), data, expected);
        }
        if (kind == 6) {
            bytes memory data = abi.encodeCall(IScore.recordOutcome, (0, caller, caller, ScoreOutcome.Released));
            expected = abi.encodeWithSelector(IScore.CallerNotEscrow.selector, caller, address(escrow));
            _call(caller, address(score), data, isScoreBroken ? ANY : expected);
        }
        expected = abi.encodeWithSelector(Initializable.InvalidInitialization.selector);
        if (kind == 7) {
            bytes memory data = abi.encodeWithSignature("initialize(address,address,address)", caller, caller, caller);
            _call(caller, address(resolver), data, expected);
        }
        if (kind == 8) {
            bytes memory data = abi.encodeWithSignature("initialize(address)", caller);
            _call(caller, address(score), data, isScoreBroken ? ANY : expected);
        }
        if (kind == 9) {
            bytes memory data = abi.encodeWithSignature("initialize(address)", caller);
            _call(caller, scoreCode[(seed >> 64) % 2], data, expected);
        }
    }

    function _acceptResolver(ResolvedBy role, address caller) private {
        bytes memory expected = _ofAcceptance(role, caller);
        _call(caller, address(resolver), abi.encodeCall(IResolver.acceptResolver, (role)), expected);
        if (expected.length != 0) return;
        ++handOvers;
        if (deals.length > 0 && deals[deals.length - 1].createdAt == time) ++sameSecondHandOvers;
        _expectHandOver(role, caller);
    }

    function _revokeResolver(ResolvedBy role, address caller, address account) internal {
        bytes memory expected = _ofRevocation(role, caller, account);
        _call(caller, address(resolver), abi.encodeCall(IResolver.revokeResolver, (role, account)), expected);
        if (expected.length == 0) _expectRevocation(role, account);
    }

    function _setTreasury(uint256 seed) private {
        address wanted = treasuries[seed % 2];
        if ((seed >> 8) % 8 == 0) wanted = (seed >> 16) % 2 == 0 ? address(0) : address(escrow);
        bool isRight = (seed >> 8) % 8 != 0;
        bytes memory expected = isRight ? bytes("") : abi.encodeWithSelector(IEscrow.InvalidTreasury.selector, wanted);
        _call(owner, address(escrow), abi.encodeCall(IEscrow.setTreasury, (wanted)), expected);
        if (isRight) treasury = seed % 2;
    }

    function _proposePauser(address account, address caller) private {
        bytes memory expected = _ofOwner(caller);
        _call(caller, address(escrow), abi.encodeCall(IEscrow.transferPauser, (account)), expected);
        if (expected.length == 0) proposedPauser = account;
    }

    function _acceptPauser(address caller) private {
        if (caller == address(0)) caller = stranger;
        bytes memory expected = _ofPauserAcceptance(caller);
        _call(caller, address(escrow), abi.encodeCall(IEscrow.acceptPauser, ()), expected);
        if (expected.length == 0) (pauser, proposedPauser) = (caller, address(0));
    }

    /// @dev Of all three contracts, in two steps; not while the score contract is broken.
    function _handOnOwnership(address next) private {
        if (isScoreBroken) return;
        address[3] memory owned = [address(escrow), address(score), address(resolver)];
        bytes memory refusal = abi.encodeWithSelector(
            OwnableUpgradeable.OwnableUnauthorizedAccount.selector,
            address(this)
        );
        for (uint256 i = 0; i < owned.length; ++i) {
            _call(owner, owned[i], abi.encodeCall(OwnableUpgradeable.transferOwnership, (next)), "");
            _call(address(this), owned[i], abi.encodeCall(Ownable2StepUpgradeable.acceptOwnership, ()), refusal);
            _call(next, owned[i], abi.encodeCall(Ownable2StepUpgradeable.acceptOwnership, ()), "");
        }
        owner = next;
    }

    function _upgrade(uint256 seed) private {
        uint256 which = seed % 3;
        if (which == 1 && isScoreBroken) return;
        address target = [address(escrow), address(score), address(resolver)][which];
        uint256 next = (seed >> 8) % 2;
        address code = [escrowCode[next], scoreCode[next], resolverCode[next]][which];
        _call(owner, target, abi.encodeCall(UUPSUpgradeable.upgradeToAndCall, (code, "")), "");
        ++upgrades;
    }

    function _spoilListing(TokenConfig memory config, uint256 token, uint256 flaw) private view returns (bytes memory) {
        if (flaw == 0) {
            config.minAmount = 1;
            return abi.encodeWithSelector(IEscrow.MinAmountOutOfRange.selector, 1, 2, type(uint56).max);
        }
        if (flaw == 1) {
            config.minAmount = 2 ** 56;
            return abi.encodeWithSelector(IEscrow.MinAmountOutOfRange.selector, 2 ** 56, 2, type(uint56).max);
        }
        if (flaw == 2 && config.feed != address(0)) {
            config.maxPriceAge = 0;
            return abi.encodeWithSelector(IEscrow.MaxPriceAgeOutOfRange.selector, 0, 1, type(uint24).max);
        }
        if (flaw == 3) {
            config.feed = stranger;
            config.maxPriceAge = 1;
            return abi.encodeWithSelector(IEscrow.FeedWithoutCode.selector, stranger);
        }
        if (flaw == 4) {
            uint8 actual = config.decimals++;
            return
                abi.encodeWithSelector(
                    IEscrow.TokenDecimalsMismatch.selector,
                    address(tokens[token]),
                    actual + 1,
                    actual
                );
        }
        return "";
    }

    function _anybody(uint256 seed) private view returns (address) {
        address[] memory list = _accounts();
        return list[seed % list.length];
    }
}
