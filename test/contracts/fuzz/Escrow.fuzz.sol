// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IEscrow} from "../../../contracts/interfaces/IEscrow.sol";
import {
    DisputeOutcome,
    Escrow,
    EscrowState,
    EscrowTerms,
    OpenAction,
    ResolvedBy,
    ScoreOutcome
} from "../../../contracts/types/EscrowTypes.sol";
import {Mood} from "../invariant/support/MoodyToken.sol";
import {equal, Unequal, vm} from "../invariant/support/Vm.sol";
import {World} from "../invariant/support/World.sol";

/// @title Properties of one escrow for every input
contract EscrowFuzzTest is World {
    uint256 private constant BUYER = 0;
    uint256 private constant SELLER = 1;
    bytes32 private constant ID = keccak256("escrow");
    bytes32 private constant CRITERIA = keccak256("criteria");

    function setUp() public {
        _build();
        _history(BUYER, ScoreOutcome.Released, 100);
        _history(SELLER, ScoreOutcome.Released, 100);
    }

    /// @notice Every deposit is divided without a unit lost: the fee is 2% rounded up, the parties share the rest.
    function testFuzz_MoneyIsDividedWithoutALostUnit(uint96 amount, uint8 percentSeed) public {
        uint256 percent = uint256(percentSeed) % 101;
        vm.assume(amount >= leastDeposits[0]);
        EscrowTerms memory terms = _terms(amount, time + 600, 300, 3_600);
        _create(terms);
        uint256 fee = tokens[0].balanceOf(treasuries[0]);
        equal(fee, (uint256(amount) + 49) / 50, "fee");
        _deliver();
        vm.prank(_trader(BUYER));
        escrow.openDispute(ID);
        vm.prank(adminResolver);
        resolver.resolveByAdmin(ID, DisputeOutcome.Split, percent, 100 - percent, CRITERIA);
        uint256 toBuyer = tokens[0].balanceOf(_trader(BUYER)) + amount - _purse();
        uint256 toSeller = tokens[0].balanceOf(_trader(SELLER)) - _purse();
        equal(toBuyer, ((amount - fee) * percent) / 100, "buyer's part");
        equal(fee + toBuyer + toSeller, amount, "all of it");
        equal(tokens[0].balanceOf(address(escrow)), 0, "left behind");
    }

    /// @notice The record gives back every term as it went in, whatever its size.
    function testFuzz_TheRecordKeepsEveryTerm(
        uint96 amount,
        uint32 span,
        uint24 window,
        uint24 grace,
        bytes32 id,
        bytes32 criteria
    ) public {
        vm.assume(amount >= leastDeposits[0] && id != 0);
        EscrowTerms memory terms = _terms(
            amount,
            time + 600 + (uint256(span) % (4_194_303 - 600 + 1)),
            300 + (uint256(window) % (86_400 - 300 + 1)),
            3_600 + (uint256(grace) % (2_592_000 - 3_600 + 1))
        );
        terms.escrowId = id;
        terms.criteriaHash = criteria;
        _create(terms);
        Escrow memory expected = Escrow({
            buyer: terms.buyer,
            seller: terms.seller,
            token: terms.token,
            amount: amount,
            fee: (uint256(amount) + 49) / 50,
            locked: amount - (uint256(amount) + 49) / 50,
            state: EscrowState.Funded,
            createdAt: time,
            deadline: terms.deadline,
            deliveredAt: 0,
            disputedAt: 0,
            disputeWindow: terms.disputeWindow,
            abandonmentGrace: terms.abandonmentGrace,
            criteriaHash: criteria
        });
        _same(escrow.getEscrow(id), expected);
        uint256 delivered = time + (uint256(span) % (terms.deadline - time + 1));
        vm.warp(delivered);
        vm.prank(terms.seller);
        escrow.submitDelivery(id, criteria);
        (expected.state, expected.deliveredAt) = (EscrowState.Delivered, delivered);
        _same(escrow.getEscrow(id), expected);
        uint256 disputed = delivered + (uint256(grace) % (terms.disputeWindow + 1));
        vm.warp(disputed);
        vm.prank(terms.buyer);
        escrow.openDispute(id);
        (expected.state, expected.disputedAt) = (EscrowState.Disputed, disputed);
        _same(escrow.getEscrow(id), expected);
    }

    /// @notice With too little gas a settlement reverts; it never ends with a credit or an unwritten score instead. The
    /// token refuses a transfer that is not given what the protocol promises, so that a starved one would be credited.
    function testFuzz_TooLittleGasChangesNothing(uint256 gasSeed, bool byRefund) public {
        uint256 gasLimit = gasSeed % 4 == 0 ? 40_000 + (gasSeed % 460_000) : 190_000 + (gasSeed % 60_000);
        _create(_terms(1e6, time + 600, 300, 3_600));
        tokens[0].setMood(byRefund ? _trader(BUYER) : _trader(SELLER), Mood.NeedsGas);
        if (!byRefund) _deliver();
        int256 before = score.scoreOf(_trader(SELLER));
        vm.prank(byRefund ? _trader(SELLER) : _trader(BUYER));
        bytes memory data = byRefund ? abi.encodeCall(IEscrow.refund, (ID)) : abi.encodeCall(IEscrow.accept, (ID));
        (bool done, ) = address(escrow).call{gas: gasLimit}(data);
        address recipient = byRefund ? _trader(BUYER) : _trader(SELLER);
        uint256 paid = tokens[0].balanceOf(recipient) + (byRefund ? 1e6 : 0) - _purse();
        equal(paid, done ? 980_000 : 0, "paid");
        equal(escrow.creditOf(recipient, address(tokens[0])), 0, "credited");
        EscrowState end = byRefund ? EscrowState.Refunded : EscrowState.Released;
        EscrowState start = byRefund ? EscrowState.Funded : EscrowState.Delivered;
        equal(uint256(escrow.getEscrow(ID).state), uint256(done ? end : start), "state");
        int256 gained = score.scoreOf(_trader(SELLER)) - before;
        if (gained != (done && !byRefund ? int256(1) : int256(0))) revert Unequal("score", 0, 1);
    }

    /// @notice Enough gas is enough: half a million settles everything.
    function testFuzz_EnoughGasSettles(uint32 gasSeed) public {
        _create(_terms(1e6, time + 600, 300, 3_600));
        _deliver();
        vm.prank(_trader(BUYER));
        escrow.accept{gas: 500_000 + (uint256(gasSeed) % 1_000_000)}(ID);
        equal(uint256(escrow.getEscrow(ID).state), uint256(EscrowState.Released), "state");
    }

    /// @notice At every second exactly one side of a boundary is open.
    function testFuzz_OneSideIsOpenAtEverySecond(uint24 window, uint24 grace, int8 offset, bool isDelivered) public {
        EscrowTerms memory terms = _terms(
            1e6,
            time + 600,
            300 + (uint256(window) % (86_400 - 300 + 1)),
            3_600 + (uint256(grace) % (2_592_000 - 3_600 + 1))
        );
        _create(terms);
        if (isDelivered) _deliver();
        uint256 end = isDelivered ? time + terms.disputeWindow : terms.deadline + terms.abandonmentGrace;
        uint256 second = uint256(int256(end) + offset);
        vm.warp(second);
        bool isEarly = second <= end;
        if (isDelivered) {
            equal(_try(BUYER, abi.encodeCall(IEscrow.accept, (ID))), isEarly ? 1 : 0, "accept");
            equal(_try(SELLER, abi.encodeCall(IEscrow.finalize, (ID))), isEarly ? 0 : 1, "finalize");
        } else {
            equal(_try(BUYER, abi.encodeCall(IEscrow.claimAbandoned, (ID))), isEarly ? 0 : 1, "claimAbandoned");
            equal(_try(SELLER, abi.encodeCall(IEscrow.refund, (ID))), isEarly ? 1 : 0, "refund");
        }
    }

    /// @notice nextActions tells the truth: what it lists as open can be done now by its caller.
    function testFuzz_NextActionsCanBeDone(uint32 wait, uint8 choice, bool isDelivered) public {
        _create(_terms(1e6, time + 600, 300, 3_600));
        if (isDelivered) _deliver();
        uint256 second = time + (uint256(wait) % 6_000);
        vm.warp(second);
        OpenAction[] memory actions = escrow.nextActions(ID);
        OpenAction memory action = actions[choice % actions.length];
        bytes4[6] memory moves = [
            IEscrow.submitDelivery.selector,
            IEscrow.accept.selector,
            IEscrow.finalize.selector,
            IEscrow.claimAbandoned.selector,
            IEscrow.refund.selector,
            IEscrow.openDispute.selector
        ];
        bytes memory data = abi.encodeWithSelector(moves[uint256(action.action)], ID, CRITERIA);
        vm.prank(action.caller == address(0) ? stranger : action.caller);
        (bool done, ) = address(escrow).call(data);
        equal(done ? 1 : 0, second >= action.opensAt && second <= action.closesAt ? 1 : 0, "done");
    }

    /// @notice The nonce of an authorization is the hash of every term, the contract and the chain.
    function testFuzz_TheNonceBindsEveryTerm(EscrowTerms memory terms, uint8 field, uint96 change) public view {
        bytes32 nonce = escrow.authorizationNonce(terms);
        bytes32 typeHash = keccak256(
            "CreateEscrow(uint256 chainId,address escrowContract,bytes32 escrowId,address buyer,address seller,uint256 amount,address token,uint256 deadline,uint256 disputeWindow,uint256 abandonmentGrace,bytes32 criteriaHash)"
        );
        bytes32 expected = keccak256(abi.encode(typeHash, block.chainid, address(escrow), terms));
        if (nonce != expected) revert Unequal("nonce", uint256(nonce), uint256(expected));
        vm.assume(change != 0);
        field = field % 9;
        if (field == 0) terms.escrowId = bytes32(uint256(terms.escrowId) ^ change);
        if (field == 1) terms.buyer = address(uint160(terms.buyer) ^ change);
        if (field == 2) terms.seller = address(uint160(terms.seller) ^ change);
        if (field == 3) terms.amount ^= change;
        if (field == 4) terms.token = address(uint160(terms.token) ^ change);
        if (field == 5) terms.deadline ^= change;
        if (field == 6) terms.disputeWindow ^= change;
        if (field == 7) terms.abandonmentGrace ^= change;
        if (field == 8) terms.criteriaHash = bytes32(uint256(terms.criteriaHash) ^ change);
        if (escrow.authorizationNonce(terms) == nonce) revert Unequal("nonce of other terms", field, 0);
    }

    /// @notice The value in USD is amount times price, rounded up to a millionth.
    function testFuzz_ValueIsRoundedUp(uint96 amount, uint64 price) public {
        vm.assume(price != 0);
        feeds[1].set(int256(uint256(price)), time);
        uint256 exact = uint256(amount) * price;
        uint256 unit = 1e20; // 18 decimals of the token and 8 of the price, less 6 of USD
        equal(escrow.usdValue(address(tokens[1]), amount), (exact + unit - 1) / unit, "USD");
        equal(escrow.usdValue(address(tokens[0]), amount), amount, "USD of a dollar token");
    }

    /// @notice An agreement counts only for the percentage, the deadline, the escrow and the parties that were signed,
    /// and until the deadline.
    function testFuzz_AnAgreementIsWhatWasSigned(
        uint8 signed,
        uint8 submitted,
        uint256 signer,
        int8 lifetime,
        uint8 stretch
    ) public {
        _create(_terms(1e6, time + 600, 300, 3_600));
        _deliver();
        vm.prank(_trader(BUYER));
        escrow.openDispute(ID);
        uint256 percent = uint256(signed) % 101;
        uint256 other = submitted % 4 == 0 ? uint256(submitted) % 101 : percent;
        signer = signer % 3 == 0 ? 2 + (signer % (TRADERS - 2)) : SELLER;
        uint256 deadline = uint256(int256(time) + lifetime);
        uint256 stretched = deadline + (stretch % 4 == 0 ? stretch : 0);
        bytes32 digest = resolver.agreementDigest(ID, percent, deadline);
        bytes[2] memory signatures = [_sign(BUYER, digest), _sign(signer, digest)];
        vm.prank(stranger);
        (bool done, ) = address(resolver).call(
            abi.encodeCall(resolver.resolveByAgreement, (ID, other, stretched, signatures))
        );
        bool isRight = percent == other && signer == SELLER && lifetime >= 0 && deadline == stretched;
        equal(done ? 1 : 0, isRight ? 1 : 0, "accepted");
    }

    /// @notice Whatever the seconds between an escrow's creation and a hand-over: the holder in the second of the
    /// creation rules it, the other one never does, and once revoked neither does.
    function testFuzz_TheHolderAtTheCreationRules(
        uint8 creation,
        uint8 handOver,
        bool isRevoked,
        bool comesFirst
    ) public {
        address successor = _person(5);
        uint256 created = time + creation;
        uint256 handedOver = time + handOver;
        if (created == handedOver && comesFirst) _handOver(handedOver, successor);
        if (created <= handedOver) {
            vm.warp(created);
            _create(_terms(1e6, created + 600, 300, 3_600));
        }
        if (created != handedOver || !comesFirst) _handOver(handedOver, successor);
        if (created > handedOver) {
            vm.warp(created);
            _create(_terms(1e6, created + 600, 300, 3_600));
        }
        _deliver();
        vm.prank(_trader(BUYER));
        escrow.openDispute(ID);
        bool isFormer = created <= handedOver;
        if (isRevoked) {
            vm.prank(owner);
            resolver.revokeResolver(ResolvedBy.Admin, isFormer ? adminResolver : successor);
        }
        equal(_tryRuling(isFormer ? successor : adminResolver), 0, "the other one");
        equal(_tryRuling(isFormer ? adminResolver : successor), isRevoked ? 0 : 1, "the holder at the creation");
    }

    function _handOver(uint256 second, address successor) private {
        vm.warp(second);
        vm.prank(owner);
        resolver.transferResolver(ResolvedBy.Admin, successor);
        vm.prank(successor);
        resolver.acceptResolver(ResolvedBy.Admin);
    }

    function _tryRuling(address caller) private returns (uint256) {
        vm.prank(caller);
        (bool done, ) = address(resolver).call(
            abi.encodeCall(resolver.resolveByAdmin, (ID, DisputeOutcome.Split, 30, 70, CRITERIA))
        );
        return done ? 1 : 0;
    }

    function _terms(
        uint256 amount,
        uint256 deadline,
        uint256 window,
        uint256 grace
    ) private view returns (EscrowTerms memory) {
        return
            EscrowTerms({
                escrowId: ID,
                buyer: _trader(BUYER),
                seller: _trader(SELLER),
                amount: amount,
                token: address(tokens[0]),
                deadline: deadline,
                disputeWindow: window,
                abandonmentGrace: grace,
                criteriaHash: CRITERIA
            });
    }

    function _create(EscrowTerms memory terms) private {
        vm.prank(terms.buyer);
        escrow.createEscrow(
            terms.escrowId,
            terms.seller,
            terms.amount,
            terms.token,
            terms.deadline,
            terms.disputeWindow,
            terms.abandonmentGrace,
            terms.criteriaHash
        );
    }

    function _deliver() private {
        vm.prank(_trader(SELLER));
        escrow.submitDelivery(ID, CRITERIA);
    }

    function _try(uint256 trader, bytes memory data) private returns (uint256) {
        vm.prank(_trader(trader));
        (bool done, ) = address(escrow).call(data);
        return done ? 1 : 0;
    }

    function _same(Escrow memory actual, Escrow memory expected) private pure {
        if (keccak256(abi.encode(actual)) != keccak256(abi.encode(expected))) revert Unequal("record", 0, 0);
    }
}
