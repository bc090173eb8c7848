// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IEscrow} from "../../contracts/interfaces/IEscrow.sol";
import {IResolver} from "../../contracts/interfaces/IResolver.sol";
import {DisputeOutcome, EscrowState, ResolutionMethod, ResolvedBy} from "../../contracts/types/EscrowTypes.sol";
import {MoodyWallet} from "./support/Peers.sol";
import {ResolverWorld} from "./support/ResolverWorld.sol";

/// @notice The three ways through the resolver contract, with any holders of the roles, for any escrow, by any caller, at
/// any time: each succeeds for its caller in its time and else fails, and tells the escrow contract exactly what was ruled.
contract RulingProofs is ResolverWorld {
    uint256 private constant HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;
    bytes32 private constant DOMAIN_TYPEHASH = keccak256(
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    );
    bytes32 private constant AGREEMENT_TYPEHASH = keccak256(
        "ResolutionAgreement(bytes32 escrowId,uint256 buyerPercent,uint256 deadline)"
    );

    /// @notice A dispute before the call.
    struct Dispute {
        bytes32 id;
        address caller;
        bytes32 rationaleHash;
        bool isDisputed;
        bool isRulable; // by anyone at all
    }

    function setUp() public override {
        super.setUp();
        _useMoodyEscrow();
    }

    function check_resolveBySystem() public {
        Dispute memory d = _anyDispute();
        uint256 outcome = svm.createUint(8, "outcome");
        vm.assume(outcome <= uint256(DisputeOutcome.Split));
        bool allowed = _mayRule(ResolvedBy.System, d);
        (bool ok, ) = _call(
            d.caller,
            RESOLVER,
            abi.encodeCall(IResolver.resolveBySystem, (d.id, DisputeOutcome(outcome), d.rationaleHash))
        );
        assert(ok == allowed);
        // 100 percent for BuyerRefund (0), none for SellerPaid (1), half for Split (2).
        uint256 toBuyer = choose(outcome == 0, 100, choose(outcome == 1, 0, 50));
        unchecked {
            if (ok) _requireTold(d, outcome, toBuyer, 100 - toBuyer, ResolvedBy.System, ResolutionMethod.Ruling);
        }
    }

    function check_resolveByAdmin() public {
        Dispute memory d = _anyDispute();
        uint256 outcome = svm.createUint(8, "outcome");
        vm.assume(outcome <= uint256(DisputeOutcome.Split));
        uint256 toBuyer = svm.createUint256("buyerPercent");
        uint256 toSeller = svm.createUint256("sellerPercent");
        bool allowed = _mayRule(ResolvedBy.Admin, d);
        (bool ok, ) = _call(
            d.caller,
            RESOLVER,
            abi.encodeCall(
                IResolver.resolveByAdmin,
                (d.id, DisputeOutcome(outcome), toBuyer, toSeller, d.rationaleHash)
            )
        );
        assert(ok == allowed);
        if (ok) _requireTold(d, outcome, toBuyer, toSeller, ResolvedBy.Admin, ResolutionMethod.Ruling);
    }

    /// @dev Of two wallets with keys.
    function check_resolveByAgreement() public {
        _agree();
    }

    /// @dev Of two smart wallets, which may also sign with a key of their own address.
    function check_resolveByAgreementOfSmartWallets() public {
        vm.etch(BUYER, type(MoodyWallet).runtimeCode);
        vm.etch(SELLER, type(MoodyWallet).runtimeCode);
        svm.enableSymbolicStorage(BUYER);
        svm.enableSymbolicStorage(SELLER);
        _agree();
    }

    /// @dev Must fail: there are rulings.
    function refute_resolveBySystemNeverSucceeds() public {
        Dispute memory d = _anyDispute();
        (bool ok, ) = _call(
            d.caller,
            RESOLVER,
            abi.encodeCall(IResolver.resolveBySystem, (d.id, DisputeOutcome.Split, d.rationaleHash))
        );
        assert(!ok);
    }

    /// @dev Must fail: by a Split the system gives each party half.
    function refute_systemSplitsGiveTheBuyerMore() public {
        Dispute memory d = _anyDispute();
        (bool ok, ) = _call(
            d.caller,
            RESOLVER,
            abi.encodeCall(IResolver.resolveBySystem, (d.id, DisputeOutcome.Split, d.rationaleHash))
        );
        if (ok) _requireTold(d, 2, 51, 49, ResolvedBy.System, ResolutionMethod.Ruling);
    }

    /// @dev Must fail: a holder rules the escrows of its tenure only.
    function refute_anyHolderRules() public {
        Dispute memory d = _anyDispute();
        uint256 tenure = _tenureOf(ResolvedBy.System, d.caller);
        vm.assume(both(d.isRulable, both(d.caller != BUYER, d.caller != SELLER)));
        vm.assume(both(uint64(tenure) != 0, uint8(tenure >> 128) == 0));
        (bool ok, ) = _call(
            d.caller,
            RESOLVER,
            abi.encodeCall(IResolver.resolveBySystem, (d.id, DisputeOutcome.Split, d.rationaleHash))
        );
        assert(ok);
    }

    /// @dev Must fail: there are agreements.
    function refute_agreementsNeverSucceed() public {
        Dispute memory d = _anyDispute();
        bytes[2] memory signatures = [_sign("buyer").bytes_, _sign("seller").bytes_];
        (bool ok, ) = _call(
            d.caller,
            RESOLVER,
            abi.encodeCall(IResolver.resolveByAgreement, (d.id, 50, 1, signatures))
        );
        assert(!ok);
    }

    // ------------------------------------------------------------------------------------------
    // Before
    // ------------------------------------------------------------------------------------------

    function _anyDispute() private returns (Dispute memory d) {
        d.id = ID;
        d.caller = svm.createAddress("caller");
        d.rationaleHash = svm.createBytes32("rationaleHash");
        uint256 state = _escrowWord(0);
        vm.assume(state <= uint256(EscrowState.Abandoned));
        bool isTaken = both(_escrowWord(3) == 0, bytes32(_escrowWord(4)) == d.id);
        d.isDisputed = both(state == uint256(EscrowState.Disputed), isTaken);
        d.isRulable = both(d.isDisputed, both(!_areRulingsPaused(), d.rationaleHash != bytes32(0)));
    }

    function _mayRule(ResolvedBy role, Dispute memory d) private view returns (bool) {
        bool isParty = either(d.caller == BUYER, d.caller == SELLER);
        return both(both(d.isRulable, !isParty), _covers(_tenureOf(role, d.caller), _escrowWord(1)));
    }

    // ------------------------------------------------------------------------------------------
    // Agreements
    // ------------------------------------------------------------------------------------------

    /// @notice Any signature of 65 bytes.
    struct Signature {
        bytes32 r;
        bytes32 s;
        uint8 v;
        bytes bytes_;
    }

    function _agree() private {
        Dispute memory d = _anyDispute();
        uint256 toBuyer = svm.createUint256("buyerPercent");
        uint256 deadline = svm.createUint256("deadline");
        uint256 time = svm.createUint(64, "time");
        vm.warp(time);
        (Signature memory ofBuyer, Signature memory ofSeller) = (_sign("buyer"), _sign("seller"));
        bytes32 digest = _digestOf(d.id, toBuyer, deadline);
        bool allowed = both(both(d.isDisputed, time <= deadline), _hasSigned(BUYER, digest, ofBuyer));
        allowed = both(allowed, _hasSigned(SELLER, digest, ofSeller));
        bytes[2] memory signatures = [ofBuyer.bytes_, ofSeller.bytes_];
        (bool ok, ) = _call(
            d.caller,
            RESOLVER,
            abi.encodeCall(IResolver.resolveByAgreement, (d.id, toBuyer, deadline, signatures))
        );
        assert(ok == allowed);
        if (!ok) return;
        d.rationaleHash = bytes32(0);
        unchecked {
            // The escrow contract ends no dispute by more than 100 percent: check_resolveByOtherPercentages.
            uint256 toSeller = choose(toBuyer > 100, 0, 100 - toBuyer);
            _requireTold(d, 2, toBuyer, toSeller, ResolvedBy.System, ResolutionMethod.Agreement);
        }
    }

    function _sign(string memory name) private returns (Signature memory signature) {
        signature.r = svm.createBytes32(name);
        signature.s = svm.createBytes32(name);
        signature.v = uint8(svm.createUint(8, name));
        signature.bytes_ = abi.encodePacked(signature.r, signature.s, signature.v);
    }

    /// @dev By the key of its address, or as a smart wallet. The digest binds chain, contract, escrow, split and deadline.
    function _hasSigned(address party, bytes32 digest, Signature memory signature) private view returns (bool) {
        bool byKey = ecrecover(digest, signature.v, signature.r, signature.s) == party;
        byKey = both(byKey, uint256(signature.s) <= HALF_ORDER);
        if (party.code.length == 0) return byKey;
        return either(byKey, uint8(uint256(vm.load(party, keccak256(abi.encode(digest, 0))))) != 0);
    }

    function _digestOf(bytes32 id, uint256 toBuyer, uint256 deadline) private view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(DOMAIN_TYPEHASH, keccak256("AgentMarketplaceResolver"), keccak256("2"), block.chainid, RESOLVER)
        );
        bytes32 agreement = keccak256(abi.encode(AGREEMENT_TYPEHASH, id, toBuyer, deadline));
        return keccak256(abi.encodePacked(hex"1901", domain, agreement));
    }

    // ------------------------------------------------------------------------------------------
    // After
    // ------------------------------------------------------------------------------------------

    /// @dev The escrow contract was told just this.
    function _requireTold(
        Dispute memory d,
        uint256 outcome,
        uint256 toBuyer,
        uint256 toSeller,
        ResolvedBy by,
        ResolutionMethod method
    ) private view {
        bytes memory data = abi.encodeWithSelector(
            IEscrow.resolve.selector,
            d.id,
            outcome,
            toBuyer,
            toSeller,
            by,
            method,
            d.rationaleHash
        );
        assert(bytes32(_escrowWord(5)) == keccak256(data));
    }
}
