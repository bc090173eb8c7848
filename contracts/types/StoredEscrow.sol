// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {EscrowState} from "./EscrowTypes.sol";

/// @notice The stored record of an escrow: three slots, and a fourth only for deposits of 2^52 token units and more.
/// Every move after the creation writes slot 0 only, and `submitDelivery` reads no other slot.
struct StoredEscrow {
    // slot 0
    PackedProgress progress;
    // slot 1
    PackedTerms terms;
    // slot 2
    bytes32 criteriaHash;
    // slot 3: gross deposit in token units when it does not fit slot 1, else 0
    uint256 largeAmount;
}

/// @notice Seller, state and times. From the lowest bit: seller 160, state 3, createdAt 32 (unix seconds, until 2106),
/// deliverySeconds 22 (from the creation to the deadline), deliveredAfter 22 (seconds from the creation),
/// disputedAfter 17 (seconds from the delivery).
type PackedProgress is uint256;

/// @notice What never changes. From the lowest bit: buyer 160, disputeWindow 17 (seconds), abandonmentGrace 22
/// (seconds), tokenIndex 5 (in the list of tokens), amount 52 (gross, token units; 0 when slot 3 has it).
type PackedTerms is uint256;

using {
    sellerOf,
    stateOf,
    createdAtOf,
    deadlineOf,
    deliveredAtOf,
    disputedAtOf,
    withState,
    withDelivery,
    withDispute
} for PackedProgress global;

using {buyerOf, disputeWindowOf, abandonmentGraceOf, tokenIndexOf, inlineAmountOf} for PackedTerms global;

/// @dev Greatest values of the fields whose range the specification does not set.
uint256 constant MAX_DELIVERY_SECONDS = 2 ** 22 - 1;
uint256 constant MAX_INLINE_AMOUNT = 2 ** 52 - 1;
uint256 constant MAX_TOKEN_INDEX = 2 ** 5 - 1;

uint256 constant ADDRESS_MASK = 2 ** 160 - 1;
uint256 constant STATE_MASK = 7 << 160;
uint256 constant SPAN_MASK = 2 ** 22 - 1;
uint256 constant WINDOW_MASK = 2 ** 17 - 1;

/// @dev A new escrow. The caller has checked that every value fits.
function packProgress(address seller, uint256 createdAt, uint256 deliverySeconds) pure returns (PackedProgress) {
    return
        PackedProgress.wrap(
            uint256(uint160(seller)) |
                (uint256(EscrowState.Funded) << 160) |
                (createdAt << 163) |
                (deliverySeconds << 195)
        );
}

/// @dev The caller has checked that every value fits; an amount that does not is left to slot 3.
function packTerms(
    address buyer,
    uint256 disputeWindow,
    uint256 abandonmentGrace,
    uint256 tokenIndex,
    uint256 amount
) pure returns (PackedTerms) {
    uint256 inlineAmount = amount > MAX_INLINE_AMOUNT ? 0 : amount;
    return
        PackedTerms.wrap(
            uint256(uint160(buyer)) |
                (disputeWindow << 160) |
                (abandonmentGrace << 177) |
                (tokenIndex << 199) |
                (inlineAmount << 204)
        );
}

function sellerOf(PackedProgress progress) pure returns (address) {
    return address(uint160(PackedProgress.unwrap(progress)));
}

function stateOf(PackedProgress progress) pure returns (EscrowState) {
    return EscrowState((PackedProgress.unwrap(progress) >> 160) & 7);
}

/// @dev Unix seconds.
function createdAtOf(PackedProgress progress) pure returns (uint256) {
    return (PackedProgress.unwrap(progress) >> 163) & type(uint32).max;
}

/// @dev Unix seconds.
function deadlineOf(PackedProgress progress) pure returns (uint256) {
    unchecked {
        return createdAtOf(progress) + ((PackedProgress.unwrap(progress) >> 195) & SPAN_MASK);
    }
}

/// @dev Unix seconds; the creation's before there is a delivery.
function deliveredAtOf(PackedProgress progress) pure returns (uint256) {
    unchecked {
        return createdAtOf(progress) + ((PackedProgress.unwrap(progress) >> 217) & SPAN_MASK);
    }
}

/// @dev Unix seconds; the delivery's before there is a dispute.
function disputedAtOf(PackedProgress progress) pure returns (uint256) {
    unchecked {
        return deliveredAtOf(progress) + (PackedProgress.unwrap(progress) >> 239);
    }
}

function withState(PackedProgress progress, EscrowState state) pure returns (PackedProgress) {
    return PackedProgress.wrap((PackedProgress.unwrap(progress) & ~STATE_MASK) | (uint256(state) << 160));
}

/// @dev Funded to Delivered. `deliveredAt` is not after the deadline, so that it fits.
function withDelivery(PackedProgress progress, uint256 deliveredAt) pure returns (PackedProgress) {
    unchecked {
        uint256 deliveredAfter = deliveredAt - createdAtOf(progress);
        return
            PackedProgress.wrap(
                PackedProgress.unwrap(withState(progress, EscrowState.Delivered)) | (deliveredAfter << 217)
            );
    }
}

/// @dev Delivered to Disputed. `disputedAt` is not after the dispute window, so that it fits.
function withDispute(PackedProgress progress, uint256 disputedAt) pure returns (PackedProgress) {
    unchecked {
        uint256 disputedAfter = disputedAt - deliveredAtOf(progress);
        return
            PackedProgress.wrap(
                PackedProgress.unwrap(withState(progress, EscrowState.Disputed)) | (disputedAfter << 239)
            );
    }
}

function buyerOf(PackedTerms terms) pure returns (address) {
    return address(uint160(PackedTerms.unwrap(terms)));
}

/// @dev Seconds.
function disputeWindowOf(PackedTerms terms) pure returns (uint256) {
    return (PackedTerms.unwrap(terms) >> 160) & WINDOW_MASK;
}

/// @dev Seconds.
function abandonmentGraceOf(PackedTerms terms) pure returns (uint256) {
    return (PackedTerms.unwrap(terms) >> 177) & SPAN_MASK;
}

function tokenIndexOf(PackedTerms terms) pure returns (uint256) {
    return (PackedTerms.unwrap(terms) >> 199) & MAX_TOKEN_INDEX;
}

/// @dev Token units; 0 when slot 3 has the amount.
function inlineAmountOf(PackedTerms terms) pure returns (uint256) {
    return PackedTerms.unwrap(terms) >> 204;
}
