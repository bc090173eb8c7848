// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IEscrow} from "../../../../contracts/interfaces/IEscrow.sol";
import {EscrowState, EscrowTerms} from "../../../../contracts/types/EscrowTypes.sol";
import {Actions} from "./Actions.sol";
import {DepositMood} from "./MoodyToken.sol";

/// @title Buyers who create escrows, rightly and wrongly
abstract contract CreationHandlers is Actions {
    /// @dev Numbers the ids.
    uint256 private nonce;

    function createEscrow(uint256 seed) external {
        (Deal memory deal, EscrowTerms memory terms, uint256 token) = _proposal(_mix(seed), _mix(seed), _mix(seed));
        bytes memory expected = _ofCreation(terms, token, false, false);
        _call(
            terms.buyer,
            address(escrow),
            abi.encodeCall(
                IEscrow.createEscrow,
                (
                    terms.escrowId,
                    terms.seller,
                    terms.amount,
                    terms.token,
                    terms.deadline,
                    terms.disputeWindow,
                    terms.abandonmentGrace,
                    terms.criteriaHash
                )
            ),
            expected
        );
        if (expected.length == 0) _created(deal);
    }

    function createWithAuthorization(uint256 seed) external {
        (Deal memory deal, EscrowTerms memory terms, uint256 token) = _proposal(_mix(seed), _mix(seed), _mix(seed));
        seed = _mix(seed);
        uint256 forgery = (seed >> 64) % 24;
        uint256 validAfter = forgery == 0 ? time : time - 1;
        uint256 validBefore = forgery == 1 ? time : time + 1;
        bytes memory signature = _authorization(deal, terms, token, forgery, validAfter, validBefore);
        bool isForged = forgery < 6 || terms.buyer == stranger;
        bytes memory expected = _ofCreation(terms, token, true, isForged);
        _call(
            _caller(seed >> 96, stranger),
            address(escrow),
            abi.encodeCall(IEscrow.createEscrowWithAuthorization, (terms, validAfter, validBefore, signature)),
            expected
        );
        if (expected.length == 0) _created(deal);
    }

    /// @dev Forgeries 0 and 1 are out of time; the others sign another buyer, amount, seller or deadline.
    function _authorization(
        Deal memory deal,
        EscrowTerms memory terms,
        uint256 token,
        uint256 forgery,
        uint256 validAfter,
        uint256 validBefore
    ) private view returns (bytes memory) {
        EscrowTerms memory signed = EscrowTerms({
            escrowId: terms.escrowId,
            buyer: terms.buyer,
            seller: forgery == 2 ? stranger : terms.seller,
            amount: terms.amount,
            token: terms.token,
            deadline: forgery == 3 ? terms.deadline + 1 : terms.deadline,
            disputeWindow: terms.disputeWindow,
            abandonmentGrace: terms.abandonmentGrace,
            criteriaHash: forgery == 4 ? ~terms.criteriaHash : terms.criteriaHash
        });
        bytes32 digest = tokens[token == TOKENS ? 0 : token].authorizationDigest(
            terms.buyer,
            address(escrow),
            terms.amount,
            validAfter,
            validBefore,
            escrow.authorizationNonce(signed)
        );
        return _sign(forgery == 5 ? (deal.buyer + 1) % TRADERS : deal.buyer, digest);
    }

    function _created(Deal memory deal) private {
        _expectCreation(deal);
        _observe(lastDeal);
        deals[lastDeal].reach = _reach(lastDeal);
        deals[lastDeal].rights = _rights(lastDeal);
    }

    /// @dev Terms of a new escrow with at most one flaw, and the deal that they make when there is none.
    function _proposal(
        uint256 seed,
        uint256 amountSeed,
        uint256 timeSeed
    ) private returns (Deal memory deal, EscrowTerms memory terms, uint256 token) {
        uint256 flaw = (seed >> 32) % 56;
        token = (seed >> 24) % TOKENS;
        if ((seed >> 40) % 8 != 0) feeds[token].set(feeds[token].answer(), time);
        deal.buyer = seed % TRADERS;
        deal.seller = (deal.buyer + ((seed >> 16) % (flaw == 14 ? TRADERS : TRADERS - 1)) + 1) % TRADERS;
        deal.token = token;
        if ((seed >> 48) % 4 != 0) _calm(token, _trader(deal.seller));
        deal.id = keccak256(abi.encode("escrow", ++nonce));
        deal.criteria = keccak256(abi.encode("criteria", nonce));
        deal.amount = _amount(deal, amountSeed);
        deal.createdAt = time;
        terms = EscrowTerms({
            escrowId: deal.id,
            buyer: flaw == 13 ? stranger : _trader(deal.buyer),
            seller: _trader(deal.seller),
            amount: deal.amount,
            token: address(tokens[token]),
            deadline: _choose(timeSeed % 8, time + 600, time + MAX_DELIVERY, time + 600 + ((timeSeed >> 8) % 90_000)),
            disputeWindow: _window((timeSeed >> 32), 300, 86_400),
            abandonmentGrace: _window((timeSeed >> 64), 3_600, 2_592_000),
            criteriaHash: deal.criteria
        });
        if (flaw < 14) token = _spoil(terms, token, flaw);
        deal.deadline = terms.deadline;
        deal.window = terms.disputeWindow == 0 ? 3_600 : terms.disputeWindow;
        deal.grace = terms.abandonmentGrace == 0 ? 172_800 : terms.abandonmentGrace;
        deal.state = EscrowState.Funded;
    }

    /// @dev Takes away what others have put in the way, so that most creations come to their own terms.
    function _calm(uint256 token, address seller) private {
        if (isPaused) _call(pauser, address(escrow), abi.encodeCall(IEscrow.unpause, ()), "");
        isPaused = false;
        if (!isListed[token]) {
            bytes memory data = abi.encodeCall(IEscrow.listToken, (address(tokens[token]), _config(token)));
            _call(owner, address(escrow), data, "");
            isListed[token] = true;
        }
        tokens[token].setDepositMood(DepositMood.Fine);
        depositMoods[token] = DepositMood.Fine;
        if (!_isPriceUsable(token)) {
            feeds[token].set(_plainPrice(token), time);
            feeds[token].setAnsweredInRound(2);
        }
        if (asked[seller].paused) {
            _call(seller, address(escrow), abi.encodeCall(IEscrow.setSellerTerms, (0, 0, false)), "");
            delete asked[seller];
        }
    }

    function _spoil(EscrowTerms memory terms, uint256 token, uint256 flaw) private view returns (uint256) {
        if (flaw == 0) terms.escrowId = 0;
        if (flaw == 1) terms.seller = address(0);
        if (flaw == 2) terms.seller = address(escrow);
        if (flaw == 3 && deals.length > 0) terms.escrowId = deals[lastDeal].id;
        if (flaw == 4) terms.disputeWindow = 299;
        if (flaw == 5) terms.disputeWindow = 86_401;
        if (flaw == 6) terms.abandonmentGrace = 3_599;
        if (flaw == 7) terms.abandonmentGrace = 2_592_001;
        if (flaw == 8) terms.deadline = time + 599;
        if (flaw == 9) terms.deadline = time + MAX_DELIVERY + 1;
        if (flaw == 10) terms.amount = leastDeposits[token] - 1;
        if (flaw == 11) terms.amount = uint256(type(uint96).max) + 1;
        if (flaw == 12) {
            terms.token = address(score);
            return TOKENS;
        }
        return token;
    }

    /// @dev Amounts at the cap of the two parties and one unit above it, at the border of the packed record, and others
    /// of every size.
    function _amount(Deal memory deal, uint256 seed) private view returns (uint256) {
        uint256 token = deal.token;
        uint256 kind = seed % 16;
        seed >>= 8;
        uint256 buyerCap = _cap(scores[_trader(deal.buyer)]);
        uint256 sellerCap = _cap(scores[_trader(deal.seller)]);
        uint256 cap = buyerCap < sellerCap ? buyerCap : sellerCap;
        if (cap == type(uint256).max) return _least(token, kind < 8 ? seed % 2 ** 97 : 2 ** 52 - 1 + (seed % 2));
        if (kind == 0) return leastDeposits[token] + (seed % 3);
        if (kind == 1) return _least(token, _amountFor(token, cap));
        if (kind == 2) return _least(token, _amountFor(token, cap) + 1);
        if (kind == 3) return _least(token, seed % 2 ** 97);
        if (kind == 4) return 2 ** 52 - 1 + (seed % 2);
        return _least(token, _amountFor(token, kind == 5 ? seed % cap : seed % 10_000_000));
    }

    function _least(uint256 token, uint256 amount) private view returns (uint256) {
        return amount < leastDeposits[token] ? leastDeposits[token] : amount;
    }

    function _choose(uint256 kind, uint256 low, uint256 high, uint256 other) private pure returns (uint256) {
        return
            kind == 0
                ? low
                : kind == 1
                    ? high
                    : other;
    }

    /// @dev Zero, the bounds or something between; short ones are likelier, so that windows end within a campaign.
    function _window(uint256 seed, uint256 low, uint256 high) private pure returns (uint256) {
        uint256 kind = seed % 8;
        if (kind == 2) return 0;
        if (kind > 5) return low + ((seed >> 8) % (high - low + 1));
        return _choose(kind, low, high, low + ((seed >> 8) % 600));
    }
}
