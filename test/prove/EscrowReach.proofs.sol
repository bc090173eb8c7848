// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {UUPSUpgradeable} from "@openzeppelin/contracts/proxy/utils/UUPSUpgradeable.sol";

import {IEscrow} from "../../contracts/interfaces/IEscrow.sol";
import {TokenConfig} from "../../contracts/types/EscrowTypes.sol";
import {MoodyToken} from "./support/Peers.sol";
import {World} from "./support/World.sol";

/// @notice What no call of the escrow contract reaches: any function with any arguments by anyone, also the owner and the
/// pauser, but an upgrade. The moves and the creation have proofs of their own, which also look at a second escrow.
contract EscrowReachProofs is World {
    uint256 private constant TOKEN_COUNT_SLOT = ESCROW_STORAGE + 9;

    /// @dev Nothing that decides who gets an escrow's money, how much of it, in which token and when.
    function check_noOtherCallTouchesAnEscrow() public {
        Seen memory s = _anyEscrow();
        _listed(s);
        _callAnythingElse(s);
        assert(_isKept(s));
    }

    /// @dev A credit is touched by its owner alone. `listToken` has proofs of its own below.
    function check_noOtherCallTouchesACredit() public {
        Seen memory s = _anyEscrow();
        _callAnythingElse(s);
        assert(either(s.caller == s.buyer, _keepsBuyerCredit(s)));
        assert(either(s.caller == s.seller, _keepsSellerCredit(s)));
    }

    /// @dev Must fail: who has a credit can draw it by one of these calls.
    function refute_noOtherCallTouchesTheOwnCredit() public {
        Seen memory s = _anyEscrow();
        _callAnythingElse(s);
        assert(_keepsBuyerCredit(s));
    }

    /// @dev halmos takes an address that isn't fixed for one without code, so a listing names its token and its feed.
    function check_listTokenTouchesNoEscrow() public {
        Seen memory s = _anyEscrow();
        _listed(s);
        _list(s, address(token), address(0));
        assert(both(_isKept(s), both(_keepsBuyerCredit(s), _keepsSellerCredit(s))));
    }

    function check_listTokenOfAnotherTokenTouchesNoEscrow() public {
        Seen memory s = _anyEscrow();
        _listed(s);
        _list(s, address(new MoodyToken()), SCORE);
        assert(both(_isKept(s), both(_keepsBuyerCredit(s), _keepsSellerCredit(s))));
    }

    /// @dev Must fail: a token that the list doesn't have yet takes the next place in it.
    function refute_theListOfTokensNeverGrows() public {
        Seen memory s = _anyEscrow();
        _listed(s);
        bytes32 count = vm.load(ESCROW, bytes32(TOKEN_COUNT_SLOT));
        _list(s, address(new MoodyToken()), SCORE);
        assert(vm.load(ESCROW, bytes32(TOKEN_COUNT_SLOT)) == count);
    }

    function _list(Seen memory s, address listed, address feed) private {
        TokenConfig memory config = TokenConfig({
            feed: feed,
            maxPriceAge: uint32(svm.createUint(32, "maxPriceAge")),
            decimals: uint8(svm.createUint(8, "decimals")),
            listed: true,
            minAmount: uint96(svm.createUint(96, "minAmount"))
        });
        _call(s.caller, ESCROW, abi.encodeCall(IEscrow.listToken, (listed, config)));
    }

    /// @dev The token of the escrow is in the list, to which tokens are only ever appended.
    function _listed(Seen memory s) private {
        uint256 count = svm.createUint(5, "count");
        vm.assume(s.tokenIndex <= count);
        vm.store(ESCROW, bytes32(TOKEN_COUNT_SLOT), bytes32(count));
    }

    function _isKept(Seen memory s) private view returns (bool) {
        bool kept = both(_word(s.id, 0) == s.progress, _keepsTerms(s));
        return both(kept, vm.load(ESCROW, _tokenSlotOf(s.tokenIndex)) == bytes32(uint256(uint160(address(token)))));
    }

    function _keepsBuyerCredit(Seen memory s) private view returns (bool) {
        return _creditOf(s.buyer) == s.buyerCredit;
    }

    function _keepsSellerCredit(Seen memory s) private view returns (bool) {
        return _creditOf(s.seller) == s.sellerCredit;
    }

    function _callAnythingElse(Seen memory s) private {
        bytes memory data = svm.createCalldata("EscrowV2");
        bytes4 selector = bytes4(data);
        vm.assume(selector != UUPSUpgradeable.upgradeToAndCall.selector);
        vm.assume(selector != IEscrow.listToken.selector);
        vm.assume(selector != IEscrow.createEscrow.selector);
        vm.assume(selector != IEscrow.createEscrowWithAuthorization.selector);
        vm.assume(selector != IEscrow.submitDelivery.selector);
        vm.assume(selector != IEscrow.accept.selector);
        vm.assume(selector != IEscrow.finalize.selector);
        vm.assume(selector != IEscrow.claimAbandoned.selector);
        vm.assume(selector != IEscrow.refund.selector);
        vm.assume(selector != IEscrow.refundMany.selector);
        vm.assume(selector != IEscrow.openDispute.selector);
        vm.assume(selector != IEscrow.resolve.selector);
        vm.assume(selector != IEscrow.resolveExpired.selector);
        _call(s.caller, ESCROW, data);
    }
}
