// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable2StepUpgradeable} from "@openzeppelin/contracts-upgradeable/access/Ownable2StepUpgradeable.sol";
import {EIP712Upgradeable} from "@openzeppelin/contracts-upgradeable/utils/cryptography/EIP712Upgradeable.sol";
import {UUPSUpgradeable} from "@openzeppelin/contracts/proxy/utils/UUPSUpgradeable.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

import {IEscrow} from "./interfaces/IEscrow.sol";
import {IResolver} from "./interfaces/IResolver.sol";
import {DisputeOutcome, Escrow, EscrowState, ResolutionMethod, ResolvedBy} from "./types/EscrowTypes.sol";
import {ResolverTenure} from "./types/ResolverTypes.sol";

/// @title Resolver contract, second generation
/// @notice One tier: a ruling is final. The escrow contract lets a dispute end once, so no ruling can be replayed, and it
/// alone knows which percentages an outcome allows.
contract ResolverV2 is IResolver, Ownable2StepUpgradeable, EIP712Upgradeable, UUPSUpgradeable {
    /// @custom:storage-location erc7201:marketplace.storage.Resolver
    struct ResolverData {
        // slot 0: who holds a role now
        mapping(ResolvedBy role => address) resolvers;
        // slot 1
        mapping(ResolvedBy role => address) pendingResolvers;
        // slot 2: everyone who ever held a role
        mapping(ResolvedBy role => mapping(address resolver => ResolverTenure)) tenures;
        // slot 3
        bool rulingsPaused;
    }

    // keccak256(abi.encode(uint256(keccak256("marketplace.storage.Resolver")) - 1)) & ~bytes32(uint256(0xff))
    bytes32 private constant RESOLVER_STORAGE_LOCATION =
        0xfb98d6a4596b45b0e6ca9bfadb5e5eb824e818eb6d12ea3ad61069ad51542f00;

    bytes32 private constant AGREEMENT_TYPEHASH = keccak256(
        "ResolutionAgreement(bytes32 escrowId,uint256 buyerPercent,uint256 deadline)"
    );

    /// @dev The contract whose disputes are resolved here.
    /// @custom:oz-upgrades-unsafe-allow state-variable-immutable
    address private immutable ESCROW;

    /// @param escrow proxy of the escrow contract; it need not exist yet
    /// @custom:oz-upgrades-unsafe-allow constructor
    constructor(address escrow) {
        if (escrow == address(0)) revert InvalidEscrow(escrow);
        ESCROW = escrow;
        _disableInitializers();
    }

    /// @notice Sets the contract up; once per proxy.
    /// @param owner who may upgrade, propose and revoke resolvers
    /// @param systemResolver the key of the AI resolver
    /// @param adminResolver the key of the admin
    function initialize(address owner, address systemResolver, address adminResolver) external initializer {
        __Ownable_init(owner);
        __EIP712_init("AgentMarketplaceResolver", "2");
        // The first holders serve from this very second: there is no escrow yet, and nobody served before them.
        _startTenure(ResolvedBy.System, systemResolver, block.timestamp);
        _startTenure(ResolvedBy.Admin, adminResolver, block.timestamp);
    }

    // ------------------------------------------------------------------------------------------
    // Resolution
    // ------------------------------------------------------------------------------------------

    /// @inheritdoc IResolver
    function resolveBySystem(bytes32 escrowId, DisputeOutcome outcome, bytes32 rationaleHash) external {
        uint256 buyerPercent = _systemPercentOf(outcome);
        _rule(ResolvedBy.System, escrowId, outcome, buyerPercent, 100 - buyerPercent, rationaleHash);
    }

    /// @inheritdoc IResolver
    function resolveByAdmin(
        bytes32 escrowId,
        DisputeOutcome outcome,
        uint256 buyerPercent,
        uint256 sellerPercent,
        bytes32 rationaleHash
    ) external {
        _rule(ResolvedBy.Admin, escrowId, outcome, buyerPercent, sellerPercent, rationaleHash);
    }

    /// @inheritdoc IResolver
    function resolveByAgreement(
        bytes32 escrowId,
        uint256 buyerPercent,
        uint256 deadline,
        bytes[2] calldata signatures
    ) external {
        // Check:
        if (block.timestamp > deadline) revert AgreementExpired(block.timestamp, deadline);
        Escrow memory escrow = _disputed(escrowId);
        bytes32 digest = _agreementDigest(escrowId, buyerPercent, deadline);
        _requireSigned(escrow.buyer, digest, signatures[0]);
        _requireSigned(escrow.seller, digest, signatures[1]);

        // Interaction: the escrow contract refuses more than 100 percent
        _resolve(
            escrowId,
            DisputeOutcome.Split,
            buyerPercent,
            buyerPercent > 100 ? 0 : 100 - buyerPercent,
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
        if ($.tenures[role][newResolver].from != 0) revert ResolverServedBefore(role, newResolver);
        $.pendingResolvers[role] = newResolver;
        emit ResolverTransferStarted(role, $.resolvers[role], newResolver);
    }

    /// @inheritdoc IResolver
    function acceptResolver(ResolvedBy role) external {
        address pending = _data().pendingResolvers[role];
        if (msg.sender != pending) revert CallerNotPendingResolver(role, msg.sender, pending);
        // From the next second on: the escrows of this one have their resolver already.
        _startTenure(role, pending, block.timestamp + 1);
    }

    /// @inheritdoc IResolver
    function revokeResolver(ResolvedBy role, address resolver) external onlyOwner {
        ResolverData storage $ = _data();
        ResolverTenure storage tenure = $.tenures[role][resolver];
        if (tenure.from == 0 || tenure.revoked) revert NotAResolver(role, resolver);
        tenure.revoked = true;
        if ($.resolvers[role] == resolver) {
            $.resolvers[role] = address(0);
            tenure.until = uint64(block.timestamp);
        }
        emit ResolverRevoked(role, resolver);
    }

    /// @inheritdoc IResolver
    function pauseRulings() external {
        ResolverData storage $ = _data();
        _requirePauser();
        if ($.rulingsPaused) revert RulingsAlreadyPaused();
        $.rulingsPaused = true;
        emit RulingsPaused(msg.sender);
    }

    /// @inheritdoc IResolver
    function unpauseRulings() external {
        ResolverData storage $ = _data();
        _requirePauser();
        if (!$.rulingsPaused) revert RulingsNotPaused();
        $.rulingsPaused = false;
        emit RulingsUnpaused(msg.sender);
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
    function tenureOf(ResolvedBy role, address resolver) external view returns (ResolverTenure memory) {
        return _data().tenures[role][resolver];
    }

    /// @inheritdoc IResolver
    function rulingsPaused() external view returns (bool) {
        return _data().rulingsPaused;
    }

    /// @inheritdoc IResolver
    function escrowContract() external view returns (address) {
        return ESCROW;
    }

    /// @inheritdoc IResolver
    function agreementDigest(bytes32 escrowId, uint256 buyerPercent, uint256 deadline) external view returns (bytes32) {
        return _agreementDigest(escrowId, buyerPercent, deadline);
    }

    // ------------------------------------------------------------------------------------------
    // Internal: resolution
    // ------------------------------------------------------------------------------------------

    function _rule(
        ResolvedBy role,
        bytes32 escrowId,
        DisputeOutcome outcome,
        uint256 buyerPercent,
        uint256 sellerPercent,
        bytes32 rationaleHash
    ) private {
        // Check:
        ResolverData storage $ = _data();
        ResolverTenure memory tenure = $.tenures[role][msg.sender];
        if (tenure.from == 0 || tenure.revoked) revert CallerNotResolver(role, msg.sender);
        if ($.rulingsPaused) revert RulingsArePaused();
        if (rationaleHash == bytes32(0)) revert MissingRationale(escrowId);
        Escrow memory escrow = _disputed(escrowId);
        if (escrow.createdAt < tenure.from || escrow.createdAt > tenure.until) {
            revert EscrowOutsideTenure(escrowId, escrow.createdAt, tenure.from, tenure.until);
        }
        if (msg.sender == escrow.buyer || msg.sender == escrow.seller) revert ResolverIsParty(escrowId, msg.sender);

        // Interaction:
        _resolve(escrowId, outcome, buyerPercent, sellerPercent, role, ResolutionMethod.Ruling, rationaleHash);
    }

    function _resolve(
        bytes32 escrowId,
        DisputeOutcome outcome,
        uint256 buyerPercent,
        uint256 sellerPercent,
        ResolvedBy resolvedBy,
        ResolutionMethod resolutionMethod,
        bytes32 rationaleHash
    ) private {
        emit DisputeResolved(escrowId, outcome, buyerPercent, resolvedBy, resolutionMethod, rationaleHash, msg.sender);
        IEscrow(ESCROW).resolve(
            escrowId,
            outcome,
            buyerPercent,
            sellerPercent,
            resolvedBy,
            resolutionMethod,
            rationaleHash
        );
    }

    /// @dev The record of an escrow that must be disputed.
    function _disputed(bytes32 escrowId) private view returns (Escrow memory escrow) {
        escrow = IEscrow(ESCROW).getEscrow(escrowId);
        if (escrow.state == EscrowState.Disputed) return escrow;
        if (escrow.state == EscrowState.None) revert IEscrow.EscrowNotFound(escrowId);
        revert IEscrow.EscrowNotInState(escrowId, escrow.state, EscrowState.Disputed);
    }

    /// @dev ECDSA comes first: a wallet that delegates its code by EIP-7702 still has its key, and its delegate need not
    /// know ERC-1271.
    function _requireSigned(address party, bytes32 digest, bytes calldata signature) private view {
        (address signer, ECDSA.RecoverError problem, ) = ECDSA.tryRecoverCalldata(digest, signature);
        if (problem == ECDSA.RecoverError.NoError && signer == party) return;
        if (SignatureChecker.isValidERC1271SignatureNowCalldata(party, digest, signature)) return;
        revert InvalidSignature(party);
    }

    function _agreementDigest(bytes32 escrowId, uint256 buyerPercent, uint256 deadline) private view returns (bytes32) {
        return _hashTypedDataV4(keccak256(abi.encode(AGREEMENT_TYPEHASH, escrowId, buyerPercent, deadline)));
    }

    /// @dev The buyer's percentage by which the system rules an outcome.
    function _systemPercentOf(DisputeOutcome outcome) private pure returns (uint256) {
        if (outcome == DisputeOutcome.BuyerRefund) return 100;
        if (outcome == DisputeOutcome.SellerPaid) return 0;
        return 50;
    }

    // ------------------------------------------------------------------------------------------
    // Internal: roles
    // ------------------------------------------------------------------------------------------

    function _requirePauser() private view {
        address pauser = IEscrow(ESCROW).pauser();
        if (msg.sender != pauser) revert CallerNotPauser(msg.sender, pauser);
    }

    /// @dev Ends the tenure of the present holder, if any, with the second before `from`, and begins the next one.
    function _startTenure(ResolvedBy role, address newResolver, uint256 from) private {
        ResolverData storage $ = _data();
        if (newResolver == address(0)) revert InvalidResolver(newResolver);
        address previous = $.resolvers[role];
        if (previous != address(0)) $.tenures[role][previous].until = uint64(from - 1);
        $.tenures[role][newResolver] = ResolverTenure({from: uint64(from), until: type(uint64).max, revoked: false});
        $.resolvers[role] = newResolver;
        $.pendingResolvers[role] = address(0);
        emit ResolverTransferred(role, previous, newResolver, from);
    }

    function _data() private pure returns (ResolverData storage $) {
        // The only way to name an ERC-7201 slot.
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            $.slot := RESOLVER_STORAGE_LOCATION
        }
    }
}
