// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Escrow, EscrowState, ResolvedBy} from "../../../../contracts/types/EscrowTypes.sol";
import {ResolverTenure} from "../../../../contracts/types/ResolverTypes.sol";
import {RolePredictions} from "./RolePredictions.sol";
import {equal, vm} from "./Vm.sol";

/// @title How a handler acts and measures
abstract contract Actions is RolePredictions {
    /// @dev What the parties of one deal own, in the wallet and as credit.
    struct Holdings {
        uint256 buyer;
        uint256 seller;
    }

    /// @notice Thrown when a call did not answer what the model predicts.
    error Surprise(bytes4 call, bool done, bytes answer, bytes expected);
    /// @notice Thrown when a deal went where the table of section 3.2 has no way.
    error ImpossibleMove(EscrowState from, EscrowState to);

    /// @notice Calls to the contracts under test that succeeded, and that were refused as predicted.
    uint256 public successes;
    uint256 public refusals;
    /// @notice How many deals have ever been in a state.
    mapping(EscrowState state => uint256) public entered;
    uint256 private draws;

    /// @dev The engine likes some numbers better than others; what is drawn from a seed should not. Handlers that are
    /// called again draw new ones.
    function _mix(uint256 seed) internal returns (uint256) {
        return uint256(keccak256(abi.encode(seed, ++draws)));
    }

    /// @dev A deal, three times of four one that is still open, or `deals.length` for an id that does not exist.
    function _pick(uint256 seed) internal view returns (uint256 index) {
        if (deals.length == 0 || seed % 32 == 31) return deals.length;
        index = (seed >> 8) % deals.length;
        if (seed % 4 == 0) return index;
        for (uint256 i = 0; i < deals.length; ++i) {
            uint256 next = (index + i) % deals.length;
            EscrowState state = deals[next].state;
            if (state == EscrowState.Funded || state == EscrowState.Delivered || state == EscrowState.Disputed) {
                return next;
            }
        }
    }

    /// @dev Three times of four a deal in this state, if there is one, else as `_pick` does.
    function _pickIn(EscrowState wanted, uint256 seed) internal view returns (uint256) {
        for (uint256 i = 0; (seed >> 16) % 4 != 0 && i < deals.length; ++i) {
            uint256 next = (((seed >> 24) % deals.length) + i) % deals.length;
            if (deals[next].state == wanted) return next;
        }
        return _pick(seed);
    }

    /// @dev `right` three times of four, else anybody.
    function _caller(uint256 seed, address right) internal view returns (address) {
        if (seed % 4 != 3) return right;
        address[] memory list = _accounts();
        return list[(seed >> 8) % list.length];
    }

    function _buyerOf(uint256 index) internal view returns (address) {
        return index < deals.length ? _trader(deals[index].buyer) : stranger;
    }

    function _sellerOf(uint256 index) internal view returns (address) {
        return index < deals.length ? _trader(deals[index].seller) : stranger;
    }

    /// @dev Makes the call and holds the answer against the prediction.
    function _call(address caller, address target, bytes memory data, bytes memory expected) internal {
        vm.prank(caller);
        (bool done, bytes memory answer) = target.call{gas: 5_000_000}(data);
        bool fits = expected.length == 0 ? done : !done && (_isAny(expected) || _same(answer, expected));
        if (!fits) revert Surprise(bytes4(data), done, answer, expected);
        if (done) ++successes;
        else ++refusals;
    }

    /// @dev Like `_call` for a move of one deal, with what its parties got out of it and where it went.
    function _move(uint256 index, address caller, address target, bytes memory data, bytes memory expected) internal {
        if (index >= deals.length) {
            _call(caller, target, data, expected);
            return;
        }
        Holdings memory before = _holdings(index);
        _call(caller, target, data, expected);
        lastDeal = index;
        Holdings memory later = _holdings(index);
        deals[index].buyerOut += later.buyer - before.buyer;
        deals[index].sellerOut += later.seller - before.seller;
        _observe(index);
    }

    /// @dev Notes the state that the contract tells; a move that the table does not have fails the campaign.
    function _observe(uint256 index) internal {
        Escrow memory actual = escrow.getEscrow(deals[index].id);
        EscrowState from = deals[index].seen;
        if (actual.state == from) return;
        if (!_isInTable(from, actual.state)) revert ImpossibleMove(from, actual.state);
        deals[index].seen = actual.state;
        ++entered[actual.state];
    }

    /// @notice I2: what was locked leaves once, to the two parties, and not before the end.
    function checkPaidOnce(uint256 index) public view {
        if (index >= deals.length) return;
        Deal storage deal = deals[index];
        uint256 expected = _isTerminal(deal.seen) ? _locked(deal.amount) : 0;
        equal(deal.buyerOut + deal.sellerOut, expected, "I2 paid out");
    }

    function _isTerminal(EscrowState state) private pure returns (bool) {
        return
            state == EscrowState.Released ||
            state == EscrowState.Refunded ||
            state == EscrowState.Resolved ||
            state == EscrowState.Abandoned;
    }

    function _isInTable(EscrowState from, EscrowState to) private pure returns (bool) {
        if (from == EscrowState.None) return to == EscrowState.Funded;
        if (from == EscrowState.Funded) {
            return to == EscrowState.Delivered || to == EscrowState.Refunded || to == EscrowState.Abandoned;
        }
        if (from == EscrowState.Delivered) return to == EscrowState.Released || to == EscrowState.Disputed;
        return from == EscrowState.Disputed && to == EscrowState.Resolved;
    }

    /// @dev Who gets the money of a deal and how much there is of it, and the contracts that decide.
    function _reach(uint256 index) internal view returns (bytes32) {
        Escrow memory actual = escrow.getEscrow(deals[index].id);
        bytes32 contracts = keccak256(
            abi.encode(escrow.resolverContract(), escrow.scoreContract(), escrow.mainToken(), resolver.escrowContract())
        );
        return keccak256(abi.encode(actual.buyer, actual.seller, actual.token, actual.locked, contracts));
    }

    /// @dev A bit for each account and role that may rule the deal, as the resolver contract tells the tenures.
    function _rights(uint256 index) internal view returns (uint256 rights) {
        address[] memory list = _accounts();
        uint256 createdAt = deals[index].createdAt;
        for (uint256 i = 0; i < 2 * list.length; ++i) {
            ResolverTenure memory tenure = resolver.tenureOf(ResolvedBy(i % 2), list[i / 2]);
            bool covers = tenure.from != 0 && tenure.from <= createdAt && createdAt <= tenure.until;
            if (covers && !tenure.revoked) rights |= 1 << i;
        }
    }

    function _holdings(uint256 index) internal view returns (Holdings memory) {
        uint256 token = deals[index].token;
        return Holdings(_owned(token, _trader(deals[index].buyer)), _owned(token, _trader(deals[index].seller)));
    }

    function _owned(uint256 token, address account) internal view returns (uint256) {
        return tokens[token].balanceOf(account) + escrow.creditOf(account, address(tokens[token]));
    }

    function _isAny(bytes memory expected) private pure returns (bool) {
        return _same(expected, ANY);
    }

    function _same(bytes memory a, bytes memory b) private pure returns (bool) {
        return keccak256(a) == keccak256(b);
    }
}
