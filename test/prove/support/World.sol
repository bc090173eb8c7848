// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IEscrow} from "../../../contracts/interfaces/IEscrow.sol";
import {FeeMath} from "../../../contracts/libraries/FeeMath.sol";
import {EscrowState, TokenConfig, TokenListing} from "../../../contracts/types/EscrowTypes.sol";
import {
    DELIVERED_AFTER_SHIFT,
    DISPUTED_AFTER_SHIFT,
    MAX_STATE,
    PackedDeposit,
    PackedProgress,
    STATE_SHIFT
} from "../../../contracts/types/StoredEscrow.sol";
import {Cheats} from "./Cheats.sol";
import {MoodyScore, MoodyToken} from "./Peers.sol";

interface IInitialize {
    function initialize(address owner, address treasury, address pauser, TokenListing[] calldata tokens) external;
    function initialize(address owner, address systemResolver, address adminResolver) external;
}

/// @notice The three contracts behind proxies in any state, and one escrow in any state that creation and moves leave.
abstract contract World is Cheats {
    /// @notice An escrow before the call that a proof looks at, with who calls, when, and what everybody has.
    struct Seen {
        bytes32 id;
        uint256 progress;
        uint256 deposit;
        uint256 criteria;
        uint256 large;
        uint256 state;
        address buyer;
        address seller;
        uint256 tokenIndex;
        uint256 amount;
        uint256 locked;
        uint256 createdAt;
        uint256 deadline;
        uint256 graceEnd;
        uint256 deliveredAt;
        uint256 windowEnd;
        uint256 disputedAt;
        address caller;
        uint256 time;
        // A third account: anyone but the parties and the escrow contract.
        address stranger;
        uint256 held;
        uint256 buyerWallet;
        uint256 buyerCredit;
        uint256 sellerWallet;
        uint256 sellerCredit;
        uint256 strangerWallet;
        uint256 strangerCredit;
        Bystander bystander;
    }

    /// @notice Another escrow than the one that is called about, of any content, and the token at any place of the list.
    struct Bystander {
        uint256[4] words;
        uint256 tokenIndex;
        bytes32 token;
    }

    bytes32 internal constant IMPLEMENTATION_SLOT = 0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc;
    uint256 internal constant ESCROW_STORAGE = 0x96c5879cbfbd63a51be880377b7967994a4ebdbf41791ed2976aa04d1f493000;
    uint256 internal constant ESCROWS_SLOT = ESCROW_STORAGE + 3;
    uint256 internal constant CREDITS_SLOT = ESCROW_STORAGE + 6;
    uint256 internal constant TOKEN_AT_SLOT = ESCROW_STORAGE + 8;

    address internal constant ESCROW = address(0xE5C0);
    address internal constant SCORE = address(0x5C0E);
    address internal constant RESOLVER = address(0x4E50);
    bytes32 internal constant ID = bytes32(uint256(0x1D));
    bytes32 internal constant BYSTANDER_ID = bytes32(uint256(0x2D));
    address internal constant BUYER = address(0xB0B);
    address internal constant SELLER = address(0x5E11);
    address internal constant STRANGER = address(0x0DD);
    address internal constant OWNER = address(0x0123);

    MoodyToken internal token;

    function setUp() public virtual {
        token = new MoodyToken();
        vm.etch(SCORE, type(MoodyScore).runtimeCode);
        _createProxy(RESOLVER, bytes.concat(vm.envBytes("CREATION_OF_RESOLVER"), abi.encode(ESCROW)));
        _createProxy(
            ESCROW,
            bytes.concat(vm.envBytes("CREATION_OF_ESCROW"), abi.encode(SCORE, RESOLVER, address(token)))
        );
        IInitialize(RESOLVER).initialize(OWNER, address(0x51), address(0xAD));
        TokenListing[] memory tokens = new TokenListing[](1);
        tokens[0] = TokenListing(address(token), TokenConfig(address(0), 0, 6, true, 2));
        IInitialize(ESCROW).initialize(OWNER, address(0xFEE), address(0xBAD), tokens);

        // What the set-up wrote keeps its value: implementation, owner, that it is initialized. All else becomes symbolic.
        svm.enableSymbolicStorage(ESCROW);
        svm.enableSymbolicStorage(SCORE);
        svm.enableSymbolicStorage(RESOLVER);
        svm.enableSymbolicStorage(address(token));
        for (uint256 slot = 0; slot < 3; ++slot) {
            vm.store(ESCROW, bytes32(ESCROW_STORAGE + slot), svm.createBytes32("role"));
        }
    }

    function _createProxy(address proxy, bytes memory creationCode) internal {
        address implementation;
        assembly ("memory-safe") {
            implementation := create(0, add(creationCode, 0x20), mload(creationCode))
        }
        vm.etch(proxy, vm.envBytes("CODE_OF_PROXY"));
        vm.store(proxy, IMPLEMENTATION_SLOT, bytes32(uint256(uint160(implementation))));
    }

    // ------------------------------------------------------------------------------------------
    // Before
    // ------------------------------------------------------------------------------------------

    /// @dev Any escrow, called by anyone at any time.
    function _anyEscrow() internal returns (Seen memory s) {
        s.id = ID;
        s.progress = (svm.createUint(96, "progress") << 160) | uint160(SELLER);
        s.deposit = (svm.createUint(96, "deposit") << 160) | uint160(BUYER);
        s.criteria = svm.createUint256("criteria");
        s.large = svm.createUint(96, "large");
        vm.store(ESCROW, _slotOf(s.id, 0), bytes32(s.progress));
        vm.store(ESCROW, _slotOf(s.id, 1), bytes32(s.deposit));
        vm.store(ESCROW, _slotOf(s.id, 2), bytes32(s.criteria));
        vm.store(ESCROW, _slotOf(s.id, 3), bytes32(s.large));
        _read(s);

        s.caller = svm.createAddress("caller");
        s.time = svm.createUint(64, "time");
        vm.warp(s.time);
        s.stranger = STRANGER;
        _assumeWellFormed(s);
        _look(s);
        vm.assume(s.buyerCredit < 2 ** 128);
        vm.assume(s.sellerCredit < 2 ** 128);
    }

    function _read(Seen memory s) private {
        PackedProgress progress = PackedProgress.wrap(s.progress);
        PackedDeposit deposit = PackedDeposit.wrap(s.deposit);
        s.state = _stateIn(s.progress);
        (s.buyer, s.seller) = (deposit.buyerOf(), progress.sellerOf());
        // Branches as the contract does, so that halmos sees both compute the same.
        s.amount = deposit.inlineAmountOf();
        if (s.amount == 0) s.amount = s.large;
        s.locked = FeeMath.lockedOf(s.amount);
        vm.assume(s.locked <= s.amount); // proven: check_feeAndLockedAreTheDeposit
        // The main token by its index and the list's by theirs: the same contract, so that there is one to look at.
        s.tokenIndex = deposit.tokenIndexOf();
        vm.store(ESCROW, _tokenSlotOf(s.tokenIndex), bytes32(uint256(uint160(address(token)))));
        unchecked {
            s.createdAt = progress.createdAtOf();
            s.deadline = progress.deadlineOf();
            s.graceEnd = s.deadline + deposit.abandonmentGraceOf();
            s.deliveredAt = progress.deliveredAtOf();
            s.windowEnd = s.deliveredAt + deposit.disputeWindowOf();
            s.disputedAt = progress.disputedAtOf();
        }
    }

    /// @dev What creation establishes and every move keeps.
    function _assumeWellFormed(Seen memory s) internal pure {
        vm.assume(s.buyer != s.seller);
        vm.assume(s.buyer != ESCROW);
        vm.assume(s.seller != ESCROW);
        vm.assume(s.time >= s.disputedAt); // which is never before the delivery, nor that before the creation
        vm.assume(either(s.state != uint256(EscrowState.Funded), s.progress >> DELIVERED_AFTER_SHIFT == 0));
        vm.assume(either(s.state != uint256(EscrowState.Delivered), s.progress >> DISPUTED_AFTER_SHIFT == 0));
    }

    function _look(Seen memory s) private {
        s.held = _walletOf(ESCROW);
        s.buyerWallet = _walletOf(s.buyer);
        s.buyerCredit = _creditOf(s.buyer);
        s.sellerWallet = _walletOf(s.seller);
        s.sellerCredit = _creditOf(s.seller);
        s.strangerWallet = _walletOf(s.stranger);
        s.strangerCredit = _creditOf(s.stranger);
        s.bystander = _anyBystander();
    }

    function _anyBystander() internal returns (Bystander memory bystander) {
        for (uint256 index = 0; index < 4; ++index) bystander.words[index] = _word(BYSTANDER_ID, index);
        bystander.tokenIndex = svm.createUint(5, "bystandersTokenIndex");
        bystander.token = vm.load(ESCROW, _tokenSlotOf(bystander.tokenIndex));
    }

    // ------------------------------------------------------------------------------------------
    // The call
    // ------------------------------------------------------------------------------------------

    function _call(address caller, address target, bytes memory data) internal returns (bool ok, bytes4 why) {
        vm.prank(caller);
        bytes memory answer;
        (ok, answer) = target.call(data);
        assembly ("memory-safe") {
            why := mload(add(answer, 0x20))
        }
    }

    function _is(Seen memory s, EscrowState state) internal pure returns (bool) {
        return s.state == uint256(state);
    }

    /// @dev One that is allowed fails for want of gas only.
    function _requireNotAllowed(bool allowed, bytes4 why) internal pure {
        assert(either(!allowed, why == IEscrow.InsufficientGas.selector));
    }

    // ------------------------------------------------------------------------------------------
    // After
    // ------------------------------------------------------------------------------------------

    /// @dev Nothing of the escrow has changed but its state.
    function _hasMoved(Seen memory s, EscrowState state) internal view returns (bool) {
        uint256 without = s.progress & ~(MAX_STATE << STATE_SHIFT);
        return both(_word(s.id, 0) == (without | (uint256(state) << STATE_SHIFT)), _keepsTerms(s));
    }

    /// @dev Nothing of the escrow has changed but its state and the times of delivery and dispute.
    function _hasTimed(Seen memory s, EscrowState state) internal view returns (bool) {
        uint256 word = _word(s.id, 0);
        uint256 changed = (word ^ s.progress) & ((1 << DELIVERED_AFTER_SHIFT) - 1) & ~(MAX_STATE << STATE_SHIFT);
        return both(both(_stateIn(word) == uint256(state), changed == 0), _keepsTerms(s));
    }

    /// @dev Buyer, windows, token and amount are what they were.
    function _keepsTerms(Seen memory s) internal view returns (bool) {
        return both(_word(s.id, 1) == s.deposit, both(_word(s.id, 2) == s.criteria, _word(s.id, 3) == s.large));
    }

    /// @dev The other escrow is what it was, and its token too.
    function _isUntouched(Bystander memory bystander) internal view returns (bool untouched) {
        untouched = vm.load(ESCROW, _tokenSlotOf(bystander.tokenIndex)) == bystander.token;
        for (uint256 index = 0; index < 4; ++index) {
            untouched = both(untouched, _word(BYSTANDER_ID, index) == bystander.words[index]);
        }
    }

    /// @dev The parties got this, in their wallets or as credit, out of what the escrow contract held; nobody else anything,
    /// and no other escrow was touched.
    function _hasPaid(Seen memory s, uint256 toBuyer, uint256 toSeller) internal view returns (bool paid) {
        unchecked {
            uint256 buyerPaid = _walletOf(s.buyer) - s.buyerWallet;
            uint256 sellerPaid = _walletOf(s.seller) - s.sellerWallet;
            paid = buyerPaid + _creditOf(s.buyer) - s.buyerCredit == toBuyer;
            paid = both(paid, sellerPaid + _creditOf(s.seller) - s.sellerCredit == toSeller);
            paid = both(paid, _walletOf(ESCROW) == s.held - buyerPaid - sellerPaid);
            paid = both(paid, _walletOf(s.stranger) == s.strangerWallet);
            paid = both(paid, _creditOf(s.stranger) == s.strangerCredit);
            paid = both(paid, _isUntouched(s.bystander));
        }
    }

    // ------------------------------------------------------------------------------------------
    // Storage
    // ------------------------------------------------------------------------------------------

    function _slotOf(bytes32 id, uint256 index) internal pure returns (bytes32) {
        unchecked {
            return bytes32(uint256(keccak256(abi.encode(id, ESCROWS_SLOT))) + index);
        }
    }

    function _tokenSlotOf(uint256 index) internal pure returns (bytes32) {
        return keccak256(abi.encode(index, TOKEN_AT_SLOT));
    }

    function _word(bytes32 id, uint256 index) internal view returns (uint256) {
        return uint256(vm.load(ESCROW, _slotOf(id, index)));
    }

    function _stateIn(uint256 word) internal pure returns (uint256) {
        return (word >> STATE_SHIFT) & MAX_STATE;
    }

    function _walletOf(address account) internal view returns (uint256) {
        return uint256(vm.load(address(token), keccak256(abi.encode(account, 0))));
    }

    function _refuses(address recipient) internal view returns (bool) {
        return uint8(uint256(vm.load(address(token), keccak256(abi.encode(recipient, 1))))) != 0;
    }

    function _creditSlotOf(address account, address of_) internal pure returns (bytes32) {
        return keccak256(abi.encode(of_, keccak256(abi.encode(account, CREDITS_SLOT))));
    }

    function _creditOf(address account) internal view returns (uint256) {
        return uint256(vm.load(ESCROW, _creditSlotOf(account, address(token))));
    }
}
