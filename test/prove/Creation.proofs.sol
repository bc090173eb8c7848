// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IEscrow} from "../../contracts/interfaces/IEscrow.sol";
import {FeeMath} from "../../contracts/libraries/FeeMath.sol";
import {TokenValue} from "../../contracts/libraries/TokenValue.sol";
import {EscrowState, EscrowTerms} from "../../contracts/types/EscrowTypes.sol";
import {
    DELIVERED_AFTER_SHIFT,
    MAX_INLINE_AMOUNT,
    PackedDeposit,
    PackedProgress
} from "../../contracts/types/StoredEscrow.sol";
import {World} from "./support/World.sol";

/// @notice Both ways to create an escrow, of any terms, by any caller, at any time: what is stored are the terms, in ranges
/// that the other proofs assume, and exactly the deposit is taken.
contract CreationProofs is World {
    uint256 private constant TOKENS_SLOT = ESCROW_STORAGE + 4;
    address private constant TREASURY = address(0xFEE);
    bytes32 private constant AUTHORIZATION_TYPEHASH = keccak256(
        "CreateEscrow(uint256 chainId,address escrowContract,bytes32 escrowId,address buyer,address seller,uint256 amount,address token,uint256 deadline,uint256 disputeWindow,uint256 abandonmentGrace,bytes32 criteriaHash)"
    );

    /// @notice The contract before a creation.
    struct Before {
        uint256 time;
        uint256 state;
        uint256 tokenIndex;
        uint256 minAmount;
        uint256 held;
        uint256 buyerWallet;
        uint256 treasuryWallet;
        uint256 treasuryCredit;
        Bystander bystander;
    }

    function check_createEscrow() public {
        EscrowTerms memory terms = _anyTerms();
        Before memory b = _anyContract(terms.buyer);
        (bool ok, ) = _create(terms);
        if (!ok) return;
        assert(both(_isUntouched(b.bystander), both(_isStored(terms, b), _isPaid(terms, b))));
    }

    function check_createEscrowWithAuthorization() public {
        EscrowTerms memory terms = _anyTerms();
        Before memory b = _anyContract(terms.buyer);
        (bool ok, ) = _call(
            svm.createAddress("relayer"),
            ESCROW,
            abi.encodeCall(
                IEscrow.createEscrowWithAuthorization,
                (
                    terms,
                    svm.createUint256("validAfter"),
                    svm.createUint256("validBefore"),
                    svm.createBytes(65, "signature")
                )
            )
        );
        if (!ok) return;
        assert(both(_isUntouched(b.bystander), both(_isStored(terms, b), _isPaid(terms, b))));
        // What the buyer signed with the token binds the chain, the contract and every term.
        bytes32 nonce = keccak256(abi.encode(AUTHORIZATION_TYPEHASH, block.chainid, ESCROW, terms));
        assert(vm.load(address(token), bytes32(uint256(2))) == nonce);
    }

    /// @dev Must fail: escrows can be created.
    function refute_createEscrowNeverSucceeds() public {
        EscrowTerms memory terms = _anyTerms();
        _anyContract(terms.buyer);
        (bool ok, ) = _create(terms);
        assert(!ok);
    }

    /// @dev Must fail: an amount above 2^52 has a slot of its own.
    function refute_everyAmountIsInline() public {
        EscrowTerms memory terms = _anyTerms();
        _anyContract(terms.buyer);
        (bool ok, ) = _create(terms);
        if (ok) assert(PackedDeposit.wrap(_word(ID, 1)).inlineAmountOf() == terms.amount);
    }

    // ------------------------------------------------------------------------------------------
    // Before
    // ------------------------------------------------------------------------------------------

    function _anyTerms() private returns (EscrowTerms memory terms) {
        terms.escrowId = ID;
        terms.buyer = svm.createAddress("buyer");
        terms.seller = svm.createAddress("seller");
        terms.amount = svm.createUint256("amount");
        terms.token = address(token);
        terms.deadline = svm.createUint256("deadline");
        terms.disputeWindow = svm.createUint256("disputeWindow");
        terms.abandonmentGrace = svm.createUint256("abandonmentGrace");
        terms.criteriaHash = svm.createBytes32("criteriaHash");
        vm.assume(terms.buyer != ESCROW); // it calls itself never
        vm.assume(terms.buyer != TREASURY);
    }

    /// @dev Any state of the contract in which the token is a dollar, listed or not.
    function _anyContract(address buyer) private returns (Before memory b) {
        b.time = svm.createUint(64, "time");
        vm.warp(b.time);
        b.state = _stateIn(_word(ID, 0));
        vm.assume(either(b.state != 0, _word(ID, 3) == 0)); // nothing is stored of what does not exist
        b.minAmount = svm.createUint(56, "minAmount");
        vm.assume(b.minAmount != 1); // `listToken` takes none that the fee leaves nothing of
        b.tokenIndex = svm.createUint(5, "tokenIndex");
        vm.assume(b.tokenIndex != 0);
        // As the main token that slot 0 has the minimum of, or as any other.
        uint256 isMain = svm.createUint(1, "isMain");
        vm.assume(either(isMain == 0, b.tokenIndex == 1));
        uint256 listing = (6 << 184) | (b.tokenIndex << 192) | (b.minAmount << 200);
        vm.store(ESCROW, keccak256(abi.encode(address(token), TOKENS_SLOT)), bytes32(listing));
        vm.store(ESCROW, _tokenSlotOf(b.tokenIndex), bytes32(uint256(uint160(address(token)))));
        uint256 roles = uint160(TREASURY) | (svm.createUint(1, "paused") << 160);
        vm.store(ESCROW, bytes32(ESCROW_STORAGE), bytes32(roles | (choose(isMain == 1, b.minAmount, 0) << 168)));
        b.held = _walletOf(ESCROW);
        b.buyerWallet = _walletOf(buyer);
        b.treasuryWallet = _walletOf(TREASURY);
        b.treasuryCredit = _creditOf(TREASURY);
        b.bystander = _anyBystander();
    }

    function _create(EscrowTerms memory terms) private returns (bool ok, bytes4 why) {
        return
            _call(
                terms.buyer,
                ESCROW,
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
                )
            );
    }

    // ------------------------------------------------------------------------------------------
    // After
    // ------------------------------------------------------------------------------------------

    function _isStored(EscrowTerms memory terms, Before memory b) private view returns (bool stored) {
        PackedProgress progress = PackedProgress.wrap(_word(ID, 0));
        PackedDeposit deposit = PackedDeposit.wrap(_word(ID, 1));
        stored = both(b.state == 0, _stateIn(_word(ID, 0)) == uint256(EscrowState.Funded));
        stored = both(stored, _word(ID, 0) >> DELIVERED_AFTER_SHIFT == 0);
        // Parties
        stored = both(stored, both(deposit.buyerOf() == terms.buyer, progress.sellerOf() == terms.seller));
        stored = both(stored, both(terms.seller != terms.buyer, terms.seller != address(0)));
        stored = both(stored, terms.seller != ESCROW);
        // Times
        stored = both(stored, both(progress.createdAtOf() == b.time, progress.deadlineOf() == terms.deadline));
        unchecked {
            stored = both(stored, both(terms.deadline >= b.time + 600, terms.deadline < b.time + 2 ** 22));
        }
        uint256 window = deposit.disputeWindowOf();
        stored = both(stored, window == choose(terms.disputeWindow == 0, 3_600, terms.disputeWindow));
        stored = both(stored, both(window >= 300, window <= 86_400));
        uint256 grace = deposit.abandonmentGraceOf();
        stored = both(stored, grace == choose(terms.abandonmentGrace == 0, 172_800, terms.abandonmentGrace));
        stored = both(stored, both(grace >= 3_600, grace <= 2_592_000));
        // Token and amount
        stored = both(stored, both(deposit.tokenIndexOf() == b.tokenIndex, b.minAmount != 0));
        stored = both(stored, both(terms.amount >= b.minAmount, terms.amount <= TokenValue.MAX_AMOUNT));
        bool isInline = terms.amount <= MAX_INLINE_AMOUNT;
        stored = both(stored, deposit.inlineAmountOf() == choose(isInline, terms.amount, 0));
        stored = both(stored, _word(ID, 3) == choose(isInline, 0, terms.amount));
        stored = both(stored, bytes32(_word(ID, 2)) == terms.criteriaHash);
    }

    /// @dev The buyer has paid the deposit, the treasury has the fee, in its wallet or as credit, and the contract the rest.
    function _isPaid(EscrowTerms memory terms, Before memory b) private view returns (bool paid) {
        uint256 fee = FeeMath.feeOf(terms.amount);
        unchecked {
            uint256 sent = _walletOf(TREASURY) - b.treasuryWallet;
            paid = _walletOf(terms.buyer) == b.buyerWallet - terms.amount;
            paid = both(paid, sent + _creditOf(TREASURY) - b.treasuryCredit == fee);
            paid = both(paid, _walletOf(ESCROW) == b.held + terms.amount - sent);
        }
    }
}
