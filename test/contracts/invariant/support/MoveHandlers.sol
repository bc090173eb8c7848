// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IEscrow} from "../../../../contracts/interfaces/IEscrow.sol";
import {IResolver} from "../../../../contracts/interfaces/IResolver.sol";
import {
    DisputeOutcome,
    EscrowState,
    ResolutionMethod,
    ResolvedBy,
    ScoreOutcome
} from "../../../../contracts/types/EscrowTypes.sol";
import {CreationHandlers} from "./CreationHandlers.sol";

/// @title Parties, resolvers and strangers who move escrows on
abstract contract MoveHandlers is CreationHandlers {
    /// @notice Rulings by a holder of another time, and rulings that were refused because the caller did not hold the
    /// role when the escrow was created, is a party, was revoked, or rulings were suspended.
    uint256 public rulingsOfFormerHolders;
    uint256 public rulingsOutsideTenure;
    uint256 public rulingsOfParties;
    uint256 public rulingsOfRevoked;
    uint256 public suspendedRulings;
    /// @notice Disputes that ended by agreement or timeout while rulings were suspended.
    uint256 public endedWithoutRulings;

    function submitDelivery(uint256 seed) external {
        uint256 index = _pickIn(EscrowState.Funded, _mix(seed));
        _submitDelivery(index, _caller(_mix(seed), _sellerOf(index)));
    }

    function accept(uint256 seed) external {
        uint256 index = _pick(_mix(seed));
        _accept(index, _caller(_mix(seed), _buyerOf(index)));
    }

    function finalize(uint256 seed) external {
        _finalize(_pickIn(EscrowState.Delivered, _mix(seed)), _caller(_mix(seed), stranger));
    }

    function claimAbandoned(uint256 seed) external {
        uint256 index = _pick(_mix(seed));
        _claimAbandoned(index, _caller(_mix(seed), _buyerOf(index)));
    }

    function refund(uint256 seed) external {
        uint256 index = _pick(_mix(seed));
        address caller = _caller(_mix(seed), _sellerOf(index));
        bytes memory expected = _ofRefund(index, caller);
        _move(index, caller, address(escrow), abi.encodeCall(IEscrow.refund, (_idOf(index))), expected);
        if (expected.length == 0) _expectEnd(deals[index], EscrowState.Refunded, _locked(deals[index].amount));
    }

    /// @dev Two escrows, sometimes the same one twice: all or none.
    function refundMany(uint256 seed) external {
        uint256 first = _pick(_mix(seed));
        uint256 second = _mix(seed) % 8 == 7 ? first : _pick(_mix(seed));
        address caller = _caller(_mix(seed), _sellerOf(first));
        bytes32[] memory ids = new bytes32[](2);
        (ids[0], ids[1]) = (_idOf(first), _idOf(second));
        bytes memory expected = _ofRefund(first, caller);
        if (expected.length == 0 && first == second) {
            expected = abi.encodeWithSelector(
                IEscrow.EscrowNotInState.selector,
                ids[0],
                EscrowState.Refunded,
                EscrowState.Funded
            );
        }
        if (expected.length == 0) expected = _ofRefund(second, caller);
        if (expected.length != 0) {
            _call(caller, address(escrow), abi.encodeCall(IEscrow.refundMany, (ids)), expected);
            return;
        }
        _refundBoth(first, second, caller, ids);
    }

    function openDispute(uint256 seed) external {
        uint256 index = _pickIn(EscrowState.Delivered, _mix(seed));
        _openDispute(index, _caller(_mix(seed), _buyerOf(index)));
    }

    function ruleBySystem(uint256 seed) external {
        uint256 index = _pickIn(EscrowState.Disputed, _mix(seed));
        bytes32 rationale = _mix(seed) % 16 == 8 ? bytes32(0) : bytes32(uint256(1));
        address caller = _rulingCaller(index, ResolvedBy.System, _mix(seed));
        _ruleBySystem(index, caller, DisputeOutcome(_mix(seed) % 3), rationale);
    }

    function ruleByAdmin(uint256 seed) external {
        uint256 index = _pickIn(EscrowState.Disputed, _mix(seed));
        address caller = _rulingCaller(index, ResolvedBy.Admin, _mix(seed));
        DisputeOutcome outcome = DisputeOutcome(_mix(seed) % 3);
        (uint256 toBuyer, uint256 toSeller) = _percentages(outcome, _mix(seed), _mix(seed));
        bytes memory expected = _ofRuling(index, ResolvedBy.Admin, caller, bytes32(uint256(2)));
        if (expected.length == 0) expected = _ofPercentages(outcome, toBuyer, toSeller);
        bytes memory data = abi.encodeCall(
            IResolver.resolveByAdmin,
            (_idOf(index), outcome, toBuyer, toSeller, bytes32(uint256(2)))
        );
        _rule(index, ResolvedBy.Admin, caller, data, expected);
        if (expected.length == 0) _resolved(index, outcome, toBuyer);
    }

    /// @dev Both parties sign; sometimes a signature is for something else or by somebody else, too late or for more
    /// than there is.
    function agree(uint256 seed) external {
        uint256 index = _pickIn(EscrowState.Disputed, _mix(seed));
        uint256 forgery = _mix(seed) % 20;
        uint256 percent = _mix(seed) % 16 != 0 ? _mix(seed) % 101 : 101;
        if (percent == 101 && _mix(seed) % 2 == 0) percent = type(uint256).max;
        uint256 lateness = _mix(seed) % 12;
        uint256 deadline = time + (_mix(seed) % 1_000);
        if (lateness == 0) deadline = time;
        if (lateness == 1) deadline = time - 1;
        if (lateness == 2) deadline = type(uint256).max;
        _agree(
            index,
            _caller(_mix(seed), stranger),
            percent,
            deadline,
            forgery < uint256(Forgery.None) ? Forgery(forgery) : Forgery.None
        );
    }

    function resolveExpired(uint256 seed) external {
        _resolveExpired(_pickIn(EscrowState.Disputed, _mix(seed)), _caller(_mix(seed), stranger));
    }

    /// @dev Nobody but the resolver contract may call the escrow contract's own resolution.
    function resolvePastTheResolver(uint256 seed) external {
        uint256 index = _pickIn(EscrowState.Disputed, _mix(seed));
        address caller = _caller(_mix(seed), adminResolver);
        bytes memory expected = _ofDispute(index);
        if (expected.length == 0) {
            expected = abi.encodeWithSelector(IEscrow.CallerNotResolverContract.selector, caller, address(resolver));
        }
        bytes memory data = abi.encodeCall(
            IEscrow.resolve,
            (_idOf(index), DisputeOutcome.Split, 50, 50, ResolvedBy.Admin, ResolutionMethod.Ruling, bytes32(seed))
        );
        _move(index, caller, address(escrow), data, expected);
    }

    function _submitDelivery(uint256 index, address caller) internal {
        bytes memory expected = _ofDelivery(index, caller);
        bytes memory data = abi.encodeCall(IEscrow.submitDelivery, (_idOf(index), bytes32(index)));
        _move(index, caller, address(escrow), data, expected);
        if (expected.length != 0) return;
        deals[index].state = EscrowState.Delivered;
        deals[index].deliveredAt = time;
    }

    function _accept(uint256 index, address caller) internal {
        bytes memory expected = _ofWindow(index, caller);
        _move(index, caller, address(escrow), abi.encodeCall(IEscrow.accept, (_idOf(index))), expected);
        if (expected.length == 0) _released(index);
    }

    function _finalize(uint256 index, address caller) internal {
        bytes memory expected = _ofFinalize(index);
        _move(index, caller, address(escrow), abi.encodeCall(IEscrow.finalize, (_idOf(index))), expected);
        if (expected.length == 0) _released(index);
    }

    function _claimAbandoned(uint256 index, address caller) internal {
        bytes memory expected = _ofClaim(index, caller);
        _move(index, caller, address(escrow), abi.encodeCall(IEscrow.claimAbandoned, (_idOf(index))), expected);
        if (expected.length != 0) return;
        _expectEnd(deals[index], EscrowState.Abandoned, _locked(deals[index].amount));
        _expectScores(deals[index], ScoreOutcome.Abandonment);
    }

    function _openDispute(uint256 index, address caller) internal {
        bytes memory expected = _ofWindow(index, caller);
        _move(index, caller, address(escrow), abi.encodeCall(IEscrow.openDispute, (_idOf(index))), expected);
        if (expected.length != 0) return;
        deals[index].state = EscrowState.Disputed;
        deals[index].disputedAt = time;
    }

    function _ruleBySystem(uint256 index, address caller, DisputeOutcome outcome, bytes32 rationale) internal {
        uint256 percent =
            outcome == DisputeOutcome.BuyerRefund
                ? 100
                : outcome == DisputeOutcome.SellerPaid
                    ? 0
                    : 50;
        bytes memory expected = _ofRuling(index, ResolvedBy.System, caller, rationale);
        bytes memory data = abi.encodeCall(IResolver.resolveBySystem, (_idOf(index), outcome, rationale));
        _rule(index, ResolvedBy.System, caller, data, expected);
        if (expected.length == 0) _resolved(index, outcome, percent);
    }

    function _agree(uint256 index, address caller, uint256 percent, uint256 deadline, Forgery forgery) internal {
        bytes memory expected = _ofAgreement(index, percent, deadline, forgery);
        bytes memory data = _agreement(index, percent, deadline, forgery);
        _move(index, caller, address(resolver), data, expected);
        if (expected.length != 0) return;
        if (areRulingsPaused) ++endedWithoutRulings;
        _resolved(index, DisputeOutcome.Split, percent);
    }

    function _resolveExpired(uint256 index, address caller) internal {
        bytes memory expected = _ofExpiry(index);
        _move(index, caller, address(escrow), abi.encodeCall(IEscrow.resolveExpired, (_idOf(index))), expected);
        if (expected.length != 0) return;
        if (areRulingsPaused) ++endedWithoutRulings;
        _resolved(index, DisputeOutcome.Split, 50);
    }

    /// @dev The call by which both parties end a dispute.
    function _agreement(
        uint256 index,
        uint256 percent,
        uint256 deadline,
        Forgery forgery
    ) internal view returns (bytes memory) {
        (uint256 buyer, uint256 seller) = index < deals.length ? (deals[index].buyer, deals[index].seller) : (0, 1);
        bytes32 id = _idOf(index);
        bytes32 agreed = _agreementDigest(id, percent, deadline);
        bytes32 ofBuyer = agreed;
        if (forgery == Forgery.BuyerSignedOtherPercent) ofBuyer = _agreementDigest(id, percent ^ 1, deadline);
        if (forgery == Forgery.BuyerSignedOtherDeadline) ofBuyer = _agreementDigest(id, percent, deadline ^ 1);
        if (forgery == Forgery.BuyerSignedOtherEscrow) ofBuyer = _agreementDigest(~id, percent, deadline);
        bytes32 ofSeller = agreed;
        if (forgery == Forgery.SellerSignedOtherPercent) ofSeller = _agreementDigest(id, percent ^ 1, deadline);
        bytes[2] memory signatures = [
            _sign(forgery == Forgery.BuyerSlotSignedBySeller ? seller : buyer, ofBuyer),
            _sign(forgery == Forgery.SellerSlotSignedByBuyer ? buyer : seller, ofSeller)
        ];
        if (forgery == Forgery.SellerSignatureCutShort) signatures[1] = abi.encodePacked(bytes32(signatures[1]));
        if (forgery == Forgery.SellerDidNotSign) signatures[1] = "";
        return abi.encodeCall(IResolver.resolveByAgreement, (id, percent, deadline, signatures));
    }

    /// @dev Counts what campaigns should meet.
    function _rule(uint256 index, ResolvedBy role, address caller, bytes memory data, bytes memory expected) private {
        _move(index, caller, address(resolver), data, expected);
        bytes4 refusal = bytes4(expected);
        if (expected.length == 0 && caller != holders[role]) ++rulingsOfFormerHolders;
        if (refusal == IResolver.EscrowOutsideTenure.selector) ++rulingsOutsideTenure;
        if (refusal == IResolver.ResolverIsParty.selector) ++rulingsOfParties;
        if (refusal == IResolver.CallerNotResolver.selector && tenures[role][caller].isRevoked) ++rulingsOfRevoked;
        if (refusal == IResolver.RulingsArePaused.selector) ++suspendedRulings;
    }

    /// @dev Who may rule the deal half of the time, else the present holder, a party, or anybody.
    function _rulingCaller(uint256 index, ResolvedBy role, uint256 seed) private view returns (address) {
        address ruler = index < deals.length ? _rulerOf(deals[index], role) : address(0);
        if (seed % 8 < 4 && ruler != address(0)) return ruler;
        if (seed % 8 < 6 && holders[role] != address(0)) return holders[role];
        return _caller(3 | ((seed >> 8) << 8), stranger);
    }

    function _refundBoth(uint256 first, uint256 second, address caller, bytes32[] memory ids) private {
        Deal storage one = deals[first];
        Deal storage other = deals[second];
        Holdings memory ofOne = _holdings(first);
        Holdings memory ofOther = _holdings(second);
        _call(caller, address(escrow), abi.encodeCall(IEscrow.refundMany, (ids)), "");
        uint256 gained = _holdings(second).buyer - ofOther.buyer;
        // One purse for both deals: what is more than the first deal's share is the second one's.
        bool isShared = one.buyer == other.buyer && one.token == other.token;
        uint256 ofFirst = isShared ? _locked(one.amount) : _holdings(first).buyer - ofOne.buyer;
        one.buyerOut += ofFirst;
        other.buyerOut += isShared ? gained - ofFirst : gained;
        one.sellerOut += _holdings(first).seller - ofOne.seller;
        other.sellerOut += _holdings(second).seller - ofOther.seller;
        _refunded(first);
        _refunded(second);
        checkPaidOnce(first);
        lastDeal = second;
    }

    function _refunded(uint256 index) private {
        _expectEnd(deals[index], EscrowState.Refunded, _locked(deals[index].amount));
        _observe(index);
    }

    function _released(uint256 index) private {
        _expectEnd(deals[index], EscrowState.Released, 0);
        _expectScores(deals[index], ScoreOutcome.Released);
    }

    function _resolved(uint256 index, DisputeOutcome outcome, uint256 buyerPercent) private {
        Deal storage deal = deals[index];
        _expectEnd(deal, EscrowState.Resolved, (_locked(deal.amount) * buyerPercent) / 100);
        ScoreOutcome[3] memory outcomes = [ScoreOutcome.BuyerRefund, ScoreOutcome.SellerPaid, ScoreOutcome.Split];
        _expectScores(deal, outcomes[uint256(outcome)]);
    }

    function _percentages(
        DisputeOutcome outcome,
        uint256 seed,
        uint256 flawSeed
    ) private pure returns (uint256 toBuyer, uint256 toSeller) {
        toBuyer =
            outcome == DisputeOutcome.BuyerRefund
                ? 100
                : outcome == DisputeOutcome.SellerPaid
                    ? 0
                    : seed % 101;
        toSeller = 100 - toBuyer;
        uint256 flaw = (flawSeed >> 32) % 12;
        if (flaw == 0) toSeller += 1;
        if (flaw == 1) toBuyer += 1;
        if (flaw == 2) (toBuyer, toSeller) = (toSeller, toBuyer);
        if (flaw == 3) (toBuyer, toSeller) = (101, type(uint256).max);
    }
}
