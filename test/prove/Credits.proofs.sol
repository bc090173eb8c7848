// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IEscrow} from "../../contracts/interfaces/IEscrow.sol";
import {World} from "./support/World.sol";

/// @notice Credits and scores that wait: nobody draws but the owner of the credit, and repeating a score moves no money.
contract CreditProofs is World {
    uint256 private constant PENDING_SLOT = ESCROW_STORAGE + 7;

    function check_withdraw() public {
        address caller = svm.createAddress("caller");
        vm.assume(caller != ESCROW); // it never calls itself
        _requireDraw(caller, caller, abi.encodeCall(IEscrow.withdraw, (address(token))), true);
    }

    function check_withdrawTo() public {
        address caller = svm.createAddress("caller");
        address recipient = svm.createAddress("recipient");
        bool fits = both(recipient != address(0), recipient != ESCROW);
        _requireDraw(caller, recipient, abi.encodeCall(IEscrow.withdrawTo, (address(token), recipient)), fits);
    }

    function check_retryScore() public {
        Seen memory s = _anyEscrow();
        bytes32 slot = keccak256(abi.encode(s.id, PENDING_SLOT));
        uint256 pending = svm.createUint(8, "pending");
        vm.store(ESCROW, slot, bytes32(pending));
        (bool ok, ) = _call(s.caller, ESCROW, abi.encodeCall(IEscrow.retryScore, (s.id)));
        if (!ok) return;
        assert(both(both(pending != 0, pending <= 5), uint256(vm.load(ESCROW, slot)) == 0));
        assert(both(_word(s.id, 0) == s.progress, both(_keepsTerms(s), _hasPaid(s, 0, 0))));
    }

    /// @dev Must fail: a credit can be drawn.
    function refute_withdrawNeverSucceeds() public {
        address caller = svm.createAddress("caller");
        (bool ok, ) = _call(caller, ESCROW, abi.encodeCall(IEscrow.withdraw, (address(token))));
        assert(!ok);
    }

    function _requireDraw(address caller, address recipient, bytes memory data, bool fits) private {
        // Another account's credit in the same token.
        address other = svm.createAddress("other");
        vm.assume(other != caller);
        uint256 credit = _creditOf(caller);
        uint256 othersCredit = _creditOf(other);
        uint256 held = _walletOf(ESCROW);
        uint256 wallet = _walletOf(recipient);
        (bool ok, ) = _call(caller, ESCROW, data);
        assert(_creditOf(other) == othersCredit);
        bool allowed = both(both(fits, credit != 0), both(held >= credit, !_refuses(recipient)));
        assert(ok == allowed);
        if (!ok) return;
        unchecked {
            bool paid = both(_walletOf(recipient) == wallet + credit, _walletOf(ESCROW) == held - credit);
            assert(both(paid, _creditOf(caller) == 0));
        }
    }
}
