// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {EscrowState, ResolvedBy, ScoreOutcome, SellerTerms} from "../../../../contracts/types/EscrowTypes.sol";
import {DepositMood, Mood} from "./MoodyToken.sol";
import {World} from "./World.sol";

/// @title What should be true, written down a second time
/// @notice Every number here is computed from the specification alone, never read from the contracts.
abstract contract Model is World {
    /// @dev An escrow as the model sees it. Parties are indices of traders, the token is an index of `tokens`.
    struct Deal {
        bytes32 id;
        uint256 buyer;
        uint256 seller;
        uint256 token;
        uint256 amount;
        uint256 createdAt;
        uint256 deadline;
        uint256 window;
        uint256 grace;
        bytes32 criteria;
        /// @dev the holders of the resolver roles in the second of the creation, or zero; nobody else ever rules it
        address systemRuler;
        address adminRuler;
        uint256 deliveredAt;
        uint256 disputedAt;
        EscrowState state;
        /// @dev outcome + 1 of a score update that failed
        uint256 pendingScore;
        /// @dev measured, not modelled: what the parties got out of it, paid or credited
        uint256 buyerOut;
        uint256 sellerOut;
        /// @dev measured: the state that the contract last told
        EscrowState seen;
        /// @dev measured at the creation: who gets the money, and who may rule
        bytes32 reach;
        uint256 rights;
    }

    /// @dev When an account held a resolver role.
    struct Tenure {
        uint256 from;
        uint256 until;
        bool isRevoked;
    }

    uint256 internal constant RESOLUTION_TIMEOUT = 2_592_000;
    /// @dev The longest time to deliver that the record holds.
    uint256 internal constant MAX_DELIVERY = 4_194_303;

    Deal[] internal deals;
    /// @dev Index of the deal that the last call was about.
    uint256 internal lastDeal;

    mapping(uint256 token => mapping(address account => uint256)) internal balances;
    mapping(uint256 token => mapping(address account => uint256)) internal credits;
    mapping(uint256 token => uint256) internal openLocked;
    mapping(uint256 token => uint256) internal creditSum;
    mapping(uint256 token => uint256) internal gifts;
    mapping(uint256 token => uint256) internal deposits;
    mapping(uint256 token => uint256) internal fees;
    mapping(uint256 token => bool) internal isListed;
    mapping(address agent => int256) internal scores;
    mapping(address seller => SellerTerms) internal asked;
    uint256 internal treasury;
    /// @dev What accounts that are no treasuries drew to a treasury, less what the treasuries drew to others.
    mapping(uint256 token => int256) internal drawnToTreasuries;
    mapping(ResolvedBy role => address) internal holders;
    mapping(ResolvedBy role => address) internal proposed;
    mapping(ResolvedBy role => mapping(address account => Tenure)) internal tenures;
    /// @dev The second of the last hand-over of a role, and who held the role when that second began.
    mapping(ResolvedBy role => uint256) internal handedOverAt;
    mapping(ResolvedBy role => address) internal heldBefore;
    address internal proposedPauser;
    bool internal isPaused;
    bool internal areRulingsPaused;
    bool internal isScoreBroken;
    DepositMood[TOKENS] internal depositMoods;

    /// @dev The accounts whose balances and credits the model keeps.
    function _accounts() internal view returns (address[] memory list) {
        list = new address[](TRADERS + PEOPLE + 2);
        for (uint256 i = 0; i < TRADERS; ++i) list[i] = _trader(i);
        for (uint256 i = 0; i < PEOPLE; ++i) list[TRADERS + i] = _person(i);
        list[TRADERS + PEOPLE] = treasuries[0];
        list[TRADERS + PEOPLE + 1] = treasuries[1];
    }

    function _buildModel() internal {
        _build();
        for (uint256 t = 0; t < TOKENS; ++t) {
            isListed[t] = true;
            for (uint256 i = 0; i < TRADERS; ++i) balances[t][_trader(i)] = _purse();
        }
        // Just below a step of the caps, where one more deal opens larger jobs, and one trader with a bad name.
        _history(0, ScoreOutcome.Abandonment, 1);
        _history(1, ScoreOutcome.Released, 9);
        _history(2, ScoreOutcome.Released, 29);
        _history(3, ScoreOutcome.Released, 69);
        _history(4, ScoreOutcome.Released, 99);
        _history(5, ScoreOutcome.Released, 150);
        scores[_trader(0)] = -5;
        scores[_trader(1)] = 9;
        scores[_trader(2)] = 29;
        scores[_trader(3)] = 69;
        scores[_trader(4)] = 99;
        scores[_trader(5)] = 150;
        scores[stranger] = 9 + 29 + 69 + 99 + 150;
        (holders[ResolvedBy.System], holders[ResolvedBy.Admin]) = (systemResolver, adminResolver);
        tenures[ResolvedBy.System][systemResolver] = Tenure(time, type(uint64).max, false);
        tenures[ResolvedBy.Admin][adminResolver] = Tenure(time, type(uint64).max, false);
    }

    // ------------------------------------------------------------------------------------------
    // Numbers of the specification
    // ------------------------------------------------------------------------------------------

    /// @dev 2%, rounded up, by division instead of by the formula of the contract.
    function _fee(uint256 amount) internal pure returns (uint256) {
        return amount / 50 + (amount % 50 == 0 ? 0 : 1);
    }

    function _locked(uint256 amount) internal pure returns (uint256) {
        return amount - _fee(amount);
    }

    /// @dev Section 8.4 with decision 11, USD with 6 decimals.
    function _cap(int256 agentScore) internal pure returns (uint256) {
        if (agentScore >= 100) return type(uint256).max;
        if (agentScore >= 70) return 2_500_000_000;
        if (agentScore >= 30) return 100_000_000;
        if (agentScore >= 10) return 25_000_000;
        return 10_000_000;
    }

    /// @dev USD with 6 decimals, rounded up; the price must be usable and the amount below 2^97.
    function _valueUsd(uint256 token, uint256 amount) internal view returns (uint256) {
        uint256 scale = _scale(token);
        uint256 product = amount * (hasFeed[token] ? uint256(feeds[token].answer()) : 1_000_000);
        return product / scale + (product % scale == 0 ? 0 : 1);
    }

    /// @dev The most token units whose value is at most `usd`.
    function _amountFor(uint256 token, uint256 usd) internal view returns (uint256) {
        int256 price = hasFeed[token] ? feeds[token].answer() : int256(1_000_000);
        return price <= 0 ? usd : (usd * _scale(token)) / uint256(price);
    }

    /// @dev What an amount times its price is divided by; the price of a token without a feed is a million millionths.
    function _scale(uint256 token) private view returns (uint256) {
        uint256 decimals = tokens[token].decimals();
        return 10 ** (hasFeed[token] ? decimals + feeds[token].decimals() - 6 : decimals);
    }

    function _isPriceUsable(uint256 token) internal view returns (bool) {
        if (!hasFeed[token]) return true;
        int256 answer = feeds[token].answer();
        uint256 updatedAt = feeds[token].updatedAt();
        return
            answer > 0 &&
            answer <= type(int192).max &&
            updatedAt != 0 &&
            updatedAt <= time &&
            time - updatedAt <= MAX_PRICE_AGE &&
            feeds[token].answeredInRound() >= feeds[token].roundId();
    }

    // ------------------------------------------------------------------------------------------
    // What a move does
    // ------------------------------------------------------------------------------------------

    /// @dev Pays or credits, by the token's mood towards the recipient.
    function _expectPayout(uint256 token, address recipient, uint256 amount) internal {
        if (tokens[token].moodFor(recipient) <= Mood.ReturnsShort) {
            balances[token][recipient] += amount;
        } else {
            credits[token][recipient] += amount;
            creditSum[token] += amount;
        }
    }

    function _expectCreation(Deal memory deal) internal {
        deal.systemRuler = _rulerNow(ResolvedBy.System);
        deal.adminRuler = _rulerNow(ResolvedBy.Admin);
        deals.push(deal);
        lastDeal = deals.length - 1;
        uint256 fee = _fee(deal.amount);
        balances[deal.token][_trader(deal.buyer)] -= deal.amount;
        deposits[deal.token] += deal.amount;
        fees[deal.token] += fee;
        openLocked[deal.token] += deal.amount - fee;
        _expectPayout(deal.token, treasuries[treasury], fee);
    }

    /// @dev Ends a deal: shares out what is locked, then the scores.
    function _expectEnd(Deal storage deal, EscrowState state, uint256 buyerAmount) internal {
        uint256 locked = _locked(deal.amount);
        deal.state = state;
        openLocked[deal.token] -= locked;
        _expectPayout(deal.token, _trader(deal.buyer), buyerAmount);
        _expectPayout(deal.token, _trader(deal.seller), locked - buyerAmount);
    }

    function _expectScores(Deal storage deal, ScoreOutcome outcome) internal {
        if (isScoreBroken) {
            deal.pendingScore = uint256(outcome) + 1;
            return;
        }
        deal.pendingScore = 0;
        (int256 buyerDelta, int256 sellerDelta) = _deltas(outcome);
        scores[_trader(deal.buyer)] += buyerDelta;
        scores[_trader(deal.seller)] += sellerDelta;
    }

    /// @dev Moves the whole credit of an account to a wallet.
    function _expectDrawing(uint256 token, address account, address recipient) internal {
        uint256 amount = credits[token][account];
        balances[token][recipient] += amount;
        creditSum[token] -= amount;
        credits[token][account] = 0;
        if (_isTreasury(recipient)) drawnToTreasuries[token] += int256(amount);
        if (_isTreasury(account)) drawnToTreasuries[token] -= int256(amount);
    }

    function _isTreasury(address account) private view returns (bool) {
        return account == treasuries[0] || account == treasuries[1];
    }

    // ------------------------------------------------------------------------------------------
    // Resolver roles
    // ------------------------------------------------------------------------------------------

    /// @dev Who rules the escrows of this second: a hand-over takes effect in the next one.
    function _rulerNow(ResolvedBy role) internal view returns (address) {
        return handedOverAt[role] == time ? heldBefore[role] : holders[role];
    }

    function _rulerOf(Deal storage deal, ResolvedBy role) internal view returns (address) {
        return role == ResolvedBy.System ? deal.systemRuler : deal.adminRuler;
    }

    function _expectHandOver(ResolvedBy role, address newHolder) internal {
        address previous = holders[role];
        if (handedOverAt[role] != time) (handedOverAt[role], heldBefore[role]) = (time, previous);
        if (previous != address(0)) tenures[role][previous].until = time;
        tenures[role][newHolder] = Tenure(time + 1, type(uint64).max, false);
        holders[role] = newHolder;
        proposed[role] = address(0);
    }

    function _expectRevocation(ResolvedBy role, address account) internal {
        tenures[role][account].isRevoked = true;
        if (holders[role] != account) return;
        holders[role] = address(0);
        tenures[role][account].until = time;
    }

    /// @dev The table of section 3.2.
    function _deltas(ScoreOutcome outcome) internal pure returns (int256 buyerDelta, int256 sellerDelta) {
        int256[2][5] memory table = [[int256(1), 1], [int256(1), -3], [int256(-3), 1], [int256(0), 0], [int256(0), -5]];
        int256[2] memory row = table[uint256(outcome)];
        return (row[0], row[1]);
    }
}
