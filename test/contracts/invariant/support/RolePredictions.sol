// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {OwnableUpgradeable} from "@openzeppelin/contracts-upgradeable/access/OwnableUpgradeable.sol";

import {IEscrow} from "../../../../contracts/interfaces/IEscrow.sol";
import {IResolver} from "../../../../contracts/interfaces/IResolver.sol";
import {DisputeOutcome, ResolvedBy} from "../../../../contracts/types/EscrowTypes.sol";
import {Predictions} from "./Predictions.sol";

/// @title What a call of a role, a ruling or an agreement must answer
abstract contract RolePredictions is Predictions {
    /// @dev What is wrong with an agreement, if anything.
    enum Forgery {
        BuyerSignedOtherPercent,
        BuyerSlotSignedBySeller,
        BuyerSignedOtherDeadline,
        BuyerSignedOtherEscrow,
        SellerSignedOtherPercent,
        SellerSlotSignedByBuyer,
        SellerSignatureCutShort,
        SellerDidNotSign,
        None
    }

    function _ofOwner(address caller) internal view returns (bytes memory) {
        if (caller == owner) return "";
        return abi.encodeWithSelector(OwnableUpgradeable.OwnableUnauthorizedAccount.selector, caller);
    }

    function _ofPauser(address caller) internal view returns (bytes memory) {
        if (caller == pauser) return "";
        return abi.encodeWithSelector(IEscrow.CallerNotPauser.selector, caller, pauser);
    }

    function _ofPausing(address caller, bool wanted) internal view returns (bytes memory refusal) {
        refusal = _ofPauser(caller);
        if (refusal.length != 0 || wanted != isPaused) return refusal;
        return
            abi.encodeWithSelector(
                wanted ? IEscrow.NewEscrowsAlreadyPaused.selector : IEscrow.NewEscrowsNotPaused.selector
            );
    }

    function _ofPausingRulings(address caller, bool wanted) internal view returns (bytes memory refusal) {
        refusal = _ofPauser(caller);
        if (refusal.length != 0 || wanted != areRulingsPaused) return refusal;
        return
            abi.encodeWithSelector(
                wanted ? IResolver.RulingsAlreadyPaused.selector : IResolver.RulingsNotPaused.selector
            );
    }

    function _ofPauserAcceptance(address caller) internal view returns (bytes memory) {
        if (caller == proposedPauser) return "";
        return abi.encodeWithSelector(IEscrow.CallerNotPendingPauser.selector, caller, proposedPauser);
    }

    function _ofProposal(
        ResolvedBy role,
        address caller,
        address account
    ) internal view returns (bytes memory refusal) {
        refusal = _ofOwner(caller);
        if (refusal.length != 0 || tenures[role][account].from == 0) return refusal;
        return abi.encodeWithSelector(IResolver.ResolverServedBefore.selector, role, account);
    }

    function _ofAcceptance(ResolvedBy role, address caller) internal view returns (bytes memory) {
        if (caller == proposed[role]) return "";
        return abi.encodeWithSelector(IResolver.CallerNotPendingResolver.selector, role, caller, proposed[role]);
    }

    function _ofRevocation(
        ResolvedBy role,
        address caller,
        address account
    ) internal view returns (bytes memory refusal) {
        refusal = _ofOwner(caller);
        if (refusal.length != 0 || _isResolver(role, account)) return refusal;
        return abi.encodeWithSelector(IResolver.NotAResolver.selector, role, account);
    }

    function _ofRuling(
        uint256 index,
        ResolvedBy role,
        address caller,
        bytes32 rationale
    ) internal view returns (bytes memory refusal) {
        if (!_isResolver(role, caller)) {
            return abi.encodeWithSelector(IResolver.CallerNotResolver.selector, role, caller);
        }
        if (areRulingsPaused) return abi.encodeWithSelector(IResolver.RulingsArePaused.selector);
        if (rationale == 0) return abi.encodeWithSelector(IResolver.MissingRationale.selector, _idOf(index));
        refusal = _ofDispute(index);
        if (refusal.length != 0) return refusal;
        Deal storage deal = deals[index];
        if (caller != _rulerOf(deal, role)) {
            Tenure storage tenure = tenures[role][caller];
            return
                abi.encodeWithSelector(
                    IResolver.EscrowOutsideTenure.selector,
                    deal.id,
                    deal.createdAt,
                    tenure.from,
                    tenure.until
                );
        }
        if (caller == _trader(deal.buyer) || caller == _trader(deal.seller)) {
            return abi.encodeWithSelector(IResolver.ResolverIsParty.selector, deal.id, caller);
        }
    }

    function _ofPercentages(
        DisputeOutcome outcome,
        uint256 toBuyer,
        uint256 toSeller
    ) internal pure returns (bytes memory) {
        bool fits = toBuyer <= 100 && toSeller == 100 - toBuyer;
        if (outcome == DisputeOutcome.BuyerRefund && toBuyer != 100) fits = false;
        if (outcome == DisputeOutcome.SellerPaid && toBuyer != 0) fits = false;
        if (fits) return "";
        return abi.encodeWithSelector(IEscrow.InvalidPercentages.selector, outcome, toBuyer, toSeller);
    }

    function _ofAgreement(
        uint256 index,
        uint256 percent,
        uint256 deadline,
        Forgery forgery
    ) internal view returns (bytes memory refusal) {
        if (time > deadline) return abi.encodeWithSelector(IResolver.AgreementExpired.selector, time, deadline);
        refusal = _ofDispute(index);
        if (refusal.length != 0) return refusal;
        if (forgery != Forgery.None) {
            Deal storage deal = deals[index];
            uint256 forged = forgery < Forgery.SellerSignedOtherPercent ? deal.buyer : deal.seller;
            return abi.encodeWithSelector(IResolver.InvalidSignature.selector, _trader(forged));
        }
        return _ofPercentages(DisputeOutcome.Split, percent, percent > 100 ? 0 : 100 - percent);
    }

    /// @dev Holds or held the role and was not revoked.
    function _isResolver(ResolvedBy role, address account) internal view returns (bool) {
        return tenures[role][account].from != 0 && !tenures[role][account].isRevoked;
    }

    /// @dev What both parties sign to end a dispute, written down from decision 8.
    function _agreementDigest(bytes32 escrowId, uint256 percent, uint256 deadline) internal view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256("AgentMarketplaceResolver"),
                keccak256("2"),
                block.chainid,
                address(resolver)
            )
        );
        bytes32 typeHash = keccak256("ResolutionAgreement(bytes32 escrowId,uint256 buyerPercent,uint256 deadline)");
        bytes32 terms = keccak256(abi.encode(typeHash, escrowId, percent, deadline));
        return keccak256(abi.encodePacked(hex"1901", domain, terms));
    }
}
