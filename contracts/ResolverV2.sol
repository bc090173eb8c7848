// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable2StepUpgradeable} from "@openzeppelin/contracts-upgradeable/access/Ownable2StepUpgradeable.sol";
import {EIP712Upgradeable} from "@openzeppelin/contracts-upgradeable/utils/cryptography/EIP712Upgradeable.sol";
import {UUPSUpgradeable} from "@openzeppelin/contracts/proxy/utils/UUPSUpgradeable.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

import {IEscrow} from "./interfaces/IEscrow.sol";
import {IResolver} from "./interfaces/IResolver.sol";
import {DisputeOutcome, Escrow, EscrowState, ResolutionMethod, ResolvedBy} from "./types/EscrowTypes.sol";

/// @title Resolver contract, second generation
/// @notice One tier: a ruling is final. The escrow contract lets a dispute end once, so no ruling can be replayed.
contract ResolverV2 is IResolver, Ownable2StepUpgradeable, EIP712Upgradeable, UUPSUpgradeable {
    /// @custom:storage-location erc7201:marketplace.storage.Resolver
    struct ResolverData {
        // slot 0
        address escrow;
        // slot 1
        mapping(ResolvedBy role => address) resolvers;
        // slot 2
        mapping(ResolvedBy role => address) pendingResolvers;
    }

    // keccak256(abi.encode(uint256(keccak256("marketplace.storage.Resolver")) - 1)) & ~bytes32(uint256(0xff))
    bytes32 private constant RESOLVER_STORAGE_LOCATION =
        0xfb98d6a4596b45b0e6ca9bfadb5e5eb824e818eb6d12ea3ad61069ad51542f00;

    bytes32 private constant AGREEMENT_TYPEHASH = keccak256(
        "ResolutionAgreement(bytes32 escrowId,uint256 buyerPercent)"
    );

    /// @custom:oz-upgrades-unsafe-allow constructor
    constructor() {
        _disableInitializers();
    }

    /// @notice Sets the contract up; once per proxy.
    /// @param owner who may upgrade, set the escrow contract and propose resolvers
    /// @param escrow the escrow contract; it need not exist yet
    /// @param systemResolver the key of the AI resolver
    /// @param adminResolver the key of the admin
    function initialize(
        address owner,
        address escrow,
        address systemResolver,
        address adminResolver
    ) external initializer {
        __Ownable_init(owner);
        __EIP712_init("AgentMarketplaceResolver", "2");
        _setEscrowContract(escrow);
        _setResolver(ResolvedBy.System, systemResolver);
        _setResolver(ResolvedBy.Admin, adminResolver);
    }

    // ------------------------------------------------------------------------------------------
    // Resolution
    // ------------------------------------------------------------------------------------------

    /// @inheritdoc IResolver
    function resolveBySystem(bytes32 escrowId, DisputeOutcome outcome, bytes32 rationaleHash) external {
        _requireRole(ResolvedBy.System);
        _rule(escrowId, outcome, _systemPercentOf(outcome), ResolvedBy.System, rationaleHash);
    }

    /// @inheritdoc IResolver
    function resolveByAdmin(
        bytes32 escrowId,
        DisputeOutcome outcome,
        uint256 buyerPercent,
        uint256 sellerPercent,
        bytes32 rationaleHash
    ) external {
        _requireRole(ResolvedBy.Admin);
        bool fits =
            outcome == DisputeOutcome.Split
                ? buyerPercent <= 100 && sellerPercent == 100 - buyerPercent
                : buyerPercent == _systemPercentOf(outcome) && sellerPercent == 100 - buyerPercent;
        if (!fits) revert InvalidPercentages(outcome, buyerPercent, sellerPercent);
        _rule(escrowId, outcome, buyerPercent, ResolvedBy.Admin, rationaleHash);
    }

    /// @inheritdoc IResolver
    function resolveByAgreement(bytes32 escrowId, uint256 buyerPercent, bytes[2] calldata signatures) external {
        // Check:
        if (buyerPercent > 100) revert InvalidPercentages(DisputeOutcome.Split, buyerPercent, 0);
        Escrow memory escrow = IEscrow(_data().escrow).getEscrow(escrowId);
        if (escrow.state != EscrowState.Disputed) {
            if (escrow.state == EscrowState.None) revert IEscrow.EscrowNotFound(escrowId);
            revert IEscrow.EscrowNotInState(escrowId, escrow.state, EscrowState.Disputed);
        }
        bytes32 digest = _agreementDigest(escrowId, buyerPercent);
        if (!SignatureChecker.isValidSignatureNow(escrow.buyer, digest, signatures[0])) {
            revert InvalidSignature(escrow.buyer);
        }
        if (!SignatureChecker.isValidSignatureNow(escrow.seller, digest, signatures[1])) {
            revert InvalidSignature(escrow.seller);
        }

        // Interaction:
        _resolve(
            escrowId,
            DisputeOutcome.Split,
            buyerPercent,
            ResolvedBy.System,
            ResolutionMethod.Agreement,
            bytes32(0)
        );
    }

    // ------------------------------------------------------------------------------------------
    // Roles
    // ------------------------------------------------------------------------------------------

    /// @inheritdoc IResolver
    function transferResolver(ResolvedBy role, address newResolver) external onlyOwner {
        ResolverData storage $ = _data();
        $.pendingResolvers[role] = newResolver;
        emit ResolverTransferStarted(role, $.resolvers[role], newResolver);
    }

    /// @inheritdoc IResolver
    function acceptResolver(ResolvedBy role) external {
        address pending = _data().pendingResolvers[role];
        if (msg.sender != pending) revert CallerNotPendingResolver(role, msg.sender, pending);
        _setResolver(role, pending);
    }

    /// @inheritdoc IResolver
    function setEscrowContract(address newEscrow) external onlyOwner {
        _setEscrowContract(newEscrow);
    }

    /// @inheritdoc UUPSUpgradeable
    // The modifier is the whole rule.
    // solhint-disable-next-line no-empty-blocks
    function _authorizeUpgrade(address) internal override onlyOwner {}

    // ------------------------------------------------------------------------------------------
    // Views
    // ------------------------------------------------------------------------------------------

    /// @inheritdoc IResolver
    function resolverOf(ResolvedBy role) external view returns (address) {
        return _data().resolvers[role];
    }

    /// @inheritdoc IResolver
    function pendingResolverOf(ResolvedBy role) external view returns (address) {
        return _data().pendingResolvers[role];
    }

    /// @inheritdoc IResolver
    function escrowContract() external view returns (address) {
        return _data().escrow;
    }

    /// @inheritdoc IResolver
    function agreementDigest(bytes32 escrowId, uint256 buyerPercent) external view returns (bytes32) {
        return _agreementDigest(escrowId, buyerPercent);
    }

    // ------------------------------------------------------------------------------------------
    // Internal
    // ------------------------------------------------------------------------------------------

    function _rule(
        bytes32 escrowId,
        DisputeOutcome outcome,
        uint256 buyerPercent,
        ResolvedBy role,
        bytes32 rationaleHash
    ) private {
        if (rationaleHash == bytes32(0)) revert MissingRationale(escrowId);
        _resolve(escrowId, outcome, buyerPercent, role, ResolutionMethod.Ruling, rationaleHash);
    }

    function _resolve(
        bytes32 escrowId,
        DisputeOutcome outcome,
        uint256 buyerPercent,
        ResolvedBy resolvedBy,
        ResolutionMethod resolutionMethod,
        bytes32 rationaleHash
    ) private {
        emit DisputeResolved(escrowId, outcome, buyerPercent, resolvedBy, resolutionMethod, rationaleHash, msg.sender);
        IEscrow(_data().escrow).resolve(
            escrowId,
            outcome,
            buyerPercent,
            100 - buyerPercent,
            resolvedBy,
            resolutionMethod,
            rationaleHash
        );
    }

    function _requireRole(ResolvedBy role) private view {
        address resolver = _data().resolvers[role];
        if (msg.sender != resolver) revert CallerNotResolver(role, msg.sender, resolver);
    }

    function _setResolver(ResolvedBy role, address newResolver) private {
        ResolverData storage $ = _data();
        if (newResolver == address(0)) revert InvalidAddress(newResolver);
        emit ResolverTransferred(role, $.resolvers[role], newResolver);
        $.resolvers[role] = newResolver;
        $.pendingResolvers[role] = address(0);
    }

    function _setEscrowContract(address newEscrow) private {
        ResolverData storage $ = _data();
        if (newEscrow == address(0)) revert InvalidAddress(newEscrow);
        emit EscrowContractSet($.escrow, newEscrow);
        $.escrow = newEscrow;
    }

    function _agreementDigest(bytes32 escrowId, uint256 buyerPercent) private view returns (bytes32) {
        return _hashTypedDataV4(keccak256(abi.encode(AGREEMENT_TYPEHASH, escrowId, buyerPercent)));
    }

    /// @dev The buyer's percentage when the outcome alone decides it; a split by the system is always 50/50.
    function _systemPercentOf(DisputeOutcome outcome) private pure returns (uint256) {
        if (outcome == DisputeOutcome.BuyerRefund) return 100;
        if (outcome == DisputeOutcome.SellerPaid) return 0;
        return 50;
    }

    function _data() private pure returns (ResolverData storage $) {
        // The only way to name an ERC-7201 slot.
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            $.slot := RESOLVER_STORAGE_LOCATION
        }
    }
}
