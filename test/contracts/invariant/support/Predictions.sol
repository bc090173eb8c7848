// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

import {IEscrow} from "../../../../contracts/interfaces/IEscrow.sol";
import {EscrowState, EscrowTerms, SellerTerms} from "../../../../contracts/types/EscrowTypes.sol";
import {Model} from "./Model.sol";
import {DepositMood, Mood, MoodyToken} from "./MoodyToken.sol";

/// @title What a call must answer
/// @notice Each function gives the bytes with which the call must revert: nothing for success, `ANY` where the token or
/// the score contract words the refusal.
abstract contract Predictions is Model {
    bytes internal constant ANY = "any";
    bytes32 internal constant UNKNOWN_ID = bytes32(uint256(0xdead));

    function _idOf(uint256 index) internal view returns (bytes32) {
        return index < deals.length ? deals[index].id : UNKNOWN_ID;
    }

    function _ofState(uint256 index, EscrowState required) private view returns (bytes memory) {
        if (index >= deals.length) return abi.encodeWithSelector(IEscrow.EscrowNotFound.selector, UNKNOWN_ID);
        Deal storage deal = deals[index];
        if (deal.state == required) return "";
        return abi.encodeWithSelector(IEscrow.EscrowNotInState.selector, deal.id, deal.state, required);
    }

    function _ofBuyer(uint256 index, EscrowState required, address caller) private view returns (bytes memory refusal) {
        refusal = _ofState(index, required);
        if (refusal.length != 0) return refusal;
        address buyer = _trader(deals[index].buyer);
        if (caller != buyer) return abi.encodeWithSelector(IEscrow.CallerNotBuyer.selector, caller, buyer);
    }

    function _ofSeller(uint256 index, address caller) private view returns (bytes memory refusal) {
        refusal = _ofState(index, EscrowState.Funded);
        if (refusal.length != 0) return refusal;
        address seller = _trader(deals[index].seller);
        if (caller != seller) return abi.encodeWithSelector(IEscrow.CallerNotSeller.selector, caller, seller);
    }

    function _ofDelivery(uint256 index, address caller) internal view returns (bytes memory refusal) {
        refusal = _ofSeller(index, caller);
        if (refusal.length != 0) return refusal;
        uint256 deadline = deals[index].deadline;
        if (time > deadline) return abi.encodeWithSelector(IEscrow.DeadlinePassed.selector, time, deadline);
    }

    function _ofRefund(uint256 index, address caller) internal view returns (bytes memory refusal) {
        refusal = _ofSeller(index, caller);
        if (refusal.length != 0) return refusal;
        uint256 end = deals[index].deadline + deals[index].grace;
        if (time > end) return abi.encodeWithSelector(IEscrow.AbandonmentGraceElapsed.selector, time, end);
    }

    function _ofClaim(uint256 index, address caller) internal view returns (bytes memory refusal) {
        refusal = _ofBuyer(index, EscrowState.Funded, caller);
        if (refusal.length != 0) return refusal;
        uint256 end = deals[index].deadline + deals[index].grace;
        if (time <= end) return abi.encodeWithSelector(IEscrow.AbandonmentGraceOpen.selector, time, end);
    }

    /// @dev accept and openDispute
    function _ofWindow(uint256 index, address caller) internal view returns (bytes memory refusal) {
        refusal = _ofBuyer(index, EscrowState.Delivered, caller);
        if (refusal.length != 0) return refusal;
        uint256 end = deals[index].deliveredAt + deals[index].window;
        if (time > end) return abi.encodeWithSelector(IEscrow.DisputeWindowElapsed.selector, time, end);
    }

    function _ofFinalize(uint256 index) internal view returns (bytes memory refusal) {
        refusal = _ofState(index, EscrowState.Delivered);
        if (refusal.length != 0) return refusal;
        uint256 end = deals[index].deliveredAt + deals[index].window;
        if (time <= end) return abi.encodeWithSelector(IEscrow.DisputeWindowOpen.selector, time, end);
    }

    function _ofDispute(uint256 index) internal view returns (bytes memory) {
        return _ofState(index, EscrowState.Disputed);
    }

    function _ofExpiry(uint256 index) internal view returns (bytes memory refusal) {
        refusal = _ofState(index, EscrowState.Disputed);
        if (refusal.length != 0) return refusal;
        uint256 end = deals[index].disputedAt + RESOLUTION_TIMEOUT;
        if (time <= end) return abi.encodeWithSelector(IEscrow.ResolutionNotExpired.selector, time, end);
    }

    function _ofDrawing(uint256 token, address caller, address recipient) internal view returns (bytes memory) {
        if (recipient == address(0) || recipient == address(escrow)) {
            return abi.encodeWithSelector(IEscrow.InvalidRecipient.selector, recipient);
        }
        if (credits[token][caller] == 0) {
            return abi.encodeWithSelector(IEscrow.NothingToWithdraw.selector, caller, address(tokens[token]));
        }
        return tokens[token].moodFor(recipient) <= Mood.ReturnsBomb ? bytes("") : ANY;
    }

    function _ofRetry(uint256 index) internal view returns (bytes memory) {
        if (index >= deals.length || deals[index].pendingScore == 0) {
            return abi.encodeWithSelector(IEscrow.NoScorePending.selector, _idOf(index));
        }
        return isScoreBroken ? ANY : bytes("");
    }

    /// @dev `token` is an index, or `TOKENS` for one that is not on the list.
    /// @param isSigned by authorization; `isForged` when its signature does not fit
    function _ofCreation(
        EscrowTerms memory terms,
        uint256 token,
        bool isSigned,
        bool isForged
    ) internal view returns (bytes memory refusal) {
        refusal = _ofIdentity(terms);
        if (refusal.length == 0) refusal = _ofTimes(terms);
        if (refusal.length == 0) refusal = _ofValue(terms, token);
        if (refusal.length == 0) refusal = _ofCap(terms, token);
        if (refusal.length == 0 && isForged) refusal = ANY;
        if (refusal.length == 0) refusal = _ofDeposit(terms, token, isSigned);
    }

    function _ofIdentity(EscrowTerms memory terms) private view returns (bytes memory) {
        if (isPaused) return abi.encodeWithSelector(IEscrow.NewEscrowsPaused.selector);
        if (terms.escrowId == 0) return abi.encodeWithSelector(IEscrow.InvalidEscrowId.selector, terms.escrowId);
        if (terms.seller == address(0) || terms.seller == address(escrow)) {
            return abi.encodeWithSelector(IEscrow.InvalidSeller.selector, terms.seller);
        }
        if (terms.seller == terms.buyer) return abi.encodeWithSelector(IEscrow.BuyerIsSeller.selector, terms.buyer);
        for (uint256 i = 0; i < deals.length; ++i) {
            if (deals[i].id == terms.escrowId) {
                return abi.encodeWithSelector(IEscrow.EscrowAlreadyExists.selector, terms.escrowId);
            }
        }
        return "";
    }

    function _ofTimes(EscrowTerms memory terms) private view returns (bytes memory) {
        uint256 window = terms.disputeWindow;
        if (window != 0 && (window < 300 || window > 86_400)) {
            return abi.encodeWithSelector(IEscrow.DisputeWindowOutOfRange.selector, window, 300, 86_400);
        }
        uint256 grace = terms.abandonmentGrace;
        if (grace != 0 && (grace < 3_600 || grace > 2_592_000)) {
            return abi.encodeWithSelector(IEscrow.AbandonmentGraceOutOfRange.selector, grace, 3_600, 2_592_000);
        }
        if (terms.deadline < time + 600) {
            return abi.encodeWithSelector(IEscrow.DeadlineTooEarly.selector, terms.deadline, time + 600);
        }
        if (terms.deadline > time + MAX_DELIVERY) {
            return abi.encodeWithSelector(IEscrow.DeadlineTooLate.selector, terms.deadline, time + MAX_DELIVERY);
        }
        return "";
    }

    function _ofValue(EscrowTerms memory terms, uint256 token) private view returns (bytes memory) {
        if (token == TOKENS || !isListed[token]) {
            return abi.encodeWithSelector(IEscrow.TokenNotListed.selector, terms.token);
        }
        if (terms.amount < leastDeposits[token]) {
            return abi.encodeWithSelector(IEscrow.AmountBelowMinimum.selector, terms.amount, leastDeposits[token]);
        }
        if (terms.amount > type(uint96).max) {
            return abi.encodeWithSelector(IEscrow.AmountAboveMaximum.selector, terms.amount, type(uint96).max);
        }
        if (!_isPriceUsable(token)) {
            return
                abi.encodeWithSelector(
                    IEscrow.InvalidPrice.selector,
                    address(feeds[token]),
                    feeds[token].answer(),
                    feeds[token].updatedAt(),
                    MAX_PRICE_AGE,
                    time,
                    feeds[token].roundId(),
                    feeds[token].answeredInRound()
                );
        }
        return _ofSellerTerms(terms, _valueUsd(token, terms.amount));
    }

    function _ofSellerTerms(EscrowTerms memory terms, uint256 valueUsd) private view returns (bytes memory) {
        SellerTerms memory own = asked[terms.seller];
        uint256 span = terms.deadline - time;
        if (own.paused) return abi.encodeWithSelector(IEscrow.SellerPaused.selector, terms.seller);
        if (valueUsd < own.minAmountUsd) {
            return
                abi.encodeWithSelector(IEscrow.BelowSellerMinimum.selector, terms.seller, valueUsd, own.minAmountUsd);
        }
        if (span < own.minDeliverySeconds) {
            return
                abi.encodeWithSelector(
                    IEscrow.DeliveryTimeBelowSellerMinimum.selector,
                    terms.seller,
                    span,
                    own.minDeliverySeconds
                );
        }
        return "";
    }

    function _ofCap(EscrowTerms memory terms, uint256 token) private view returns (bytes memory) {
        uint256 valueUsd = _valueUsd(token, terms.amount);
        if (valueUsd <= 10_000_000) return "";
        if (isScoreBroken) return ANY;
        uint256 buyerCap = _cap(scores[terms.buyer]);
        uint256 sellerCap = _cap(scores[terms.seller]);
        (uint256 cap, address agent) = buyerCap <= sellerCap ? (buyerCap, terms.buyer) : (sellerCap, terms.seller);
        if (valueUsd <= cap) return "";
        return abi.encodeWithSelector(IEscrow.JobValueCapExceeded.selector, agent, valueUsd, cap);
    }

    function _ofDeposit(EscrowTerms memory terms, uint256 token, bool isSigned) private view returns (bytes memory) {
        DepositMood mood = depositMoods[token];
        if (terms.buyer == stranger) return ANY;
        if (mood == DepositMood.Fine || mood == DepositMood.Reenters) return "";
        if (mood == DepositMood.Reverts) {
            return abi.encodeWithSelector(MoodyToken.Refused.selector, address(escrow));
        }
        if (mood == DepositMood.ReturnsFalse && !isSigned) {
            return abi.encodeWithSelector(SafeERC20.SafeERC20FailedOperation.selector, terms.token);
        }
        uint256 received =
            mood == DepositMood.ReturnsFalse
                ? 0
                : mood == DepositMood.KeepsFee
                    ? terms.amount - 1
                    : terms.amount + 1;
        return abi.encodeWithSelector(IEscrow.TransferAmountMismatch.selector, terms.token, terms.amount, received);
    }
}
