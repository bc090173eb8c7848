// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {EscrowState} from "./EscrowTypes.sol";

/// @notice The stored record of an escrow: three slots, and a fourth only for deposits of 2^52 token units and more.
/// Every move after the creation writes slot 0 only, and `submitDelivery` reads no other slot.
struct StoredEscrow {
    // slot 0
    PackedProgress progress;
    // slot 1
    PackedDeposit deposit;
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
type PackedDeposit is uint256;

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

using {buyerOf, disputeWindowOf, abandonmentGraceOf, tokenIndexOf, inlineAmountOf} for PackedDeposit global;

/// @notice Thrown when a value does not fit its field of a packed word. The checks on the terms come first, so only a
/// block after the year 2106, or one before its predecessor, could cause it.
error FieldOverflow(uint256 value, uint256 maximum);

// Where the fields of a packed word begin. Both words begin with an address.
uint256 constant ADDRESS_BITS = 160;
uint256 constant STATE_SHIFT = ADDRESS_BITS;
uint256 constant CREATED_AT_SHIFT = STATE_SHIFT + 3;
uint256 constant DELIVERY_SECONDS_SHIFT = CREATED_AT_SHIFT + 32;
uint256 constant DELIVERED_AFTER_SHIFT = DELIVERY_SECONDS_SHIFT + 22;
uint256 constant DISPUTED_AFTER_SHIFT = DELIVERED_AFTER_SHIFT + 22;
uint256 constant DISPUTE_WINDOW_SHIFT = ADDRESS_BITS;
uint256 constant ABANDONMENT_GRACE_SHIFT = DISPUTE_WINDOW_SHIFT + 17;
uint256 constant TOKEN_INDEX_SHIFT = ABANDONMENT_GRACE_SHIFT + 22;
uint256 constant AMOUNT_SHIFT = TOKEN_INDEX_SHIFT + 5;

/// @dev The greatest values of the fields.
uint256 constant MAX_STATE = 2 ** 3 - 1;
uint256 constant MAX_CREATED_AT = 2 ** 32 - 1;
uint256 constant MAX_DELIVERY_SECONDS = 2 ** 22 - 1;
uint256 constant MAX_DISPUTE_WINDOW = 2 ** 17 - 1;
uint256 constant MAX_ABANDONMENT_GRACE = 2 ** 22 - 1;
uint256 constant MAX_TOKEN_INDEX = 2 ** 5 - 1;
uint256 constant MAX_INLINE_AMOUNT = 2 ** 52 - 1;

/// @dev Reads a field of a packed word.
/// @param shift bits below the field
/// @param maximum greatest value of the field, which is its mask
function readField(uint256 word, uint256 shift, uint256 maximum) pure returns (uint256) {
    return (word >> shift) & maximum;
}

/// @dev The word with a field that was zero. Reverts with `FieldOverflow` on a value that does not fit.
function writeField(uint256 word, uint256 shift, uint256 maximum, uint256 value) pure returns (uint256) {
    if (value > maximum) revert FieldOverflow(value, maximum);
    return word | (value << shift);
}

/// @dev A new escrow.
/// @param createdAt unix seconds
/// @param deliverySeconds seconds from the creation to the deadline
function packProgress(address seller, uint256 createdAt, uint256 deliverySeconds) pure returns (PackedProgress) {
    uint256 word = uint256(uint160(seller)) | (uint256(EscrowState.Funded) << STATE_SHIFT);
    word = writeField(word, CREATED_AT_SHIFT, MAX_CREATED_AT, createdAt);
    word = writeField(word, DELIVERY_SECONDS_SHIFT, MAX_DELIVERY_SECONDS, deliverySeconds);
    return PackedProgress.wrap(word);
}

/// @dev What a new escrow holds. An amount that does not fit is left to slot 3.
/// @param disputeWindow seconds
/// @param abandonmentGrace seconds
/// @param amount gross, token units
function packDeposit(
    address buyer,
    uint256 disputeWindow,
    uint256 abandonmentGrace,
    uint256 tokenIndex,
    uint256 amount
) pure returns (PackedDeposit) {
    uint256 word = uint256(uint160(buyer));
    word = writeField(word, DISPUTE_WINDOW_SHIFT, MAX_DISPUTE_WINDOW, disputeWindow);
    word = writeField(word, ABANDONMENT_GRACE_SHIFT, MAX_ABANDONMENT_GRACE, abandonmentGrace);
    word = writeField(word, TOKEN_INDEX_SHIFT, MAX_TOKEN_INDEX, tokenIndex);
    word = writeField(word, AMOUNT_SHIFT, MAX_INLINE_AMOUNT, amount > MAX_INLINE_AMOUNT ? 0 : amount);
    return PackedDeposit.wrap(word);
}

function sellerOf(PackedProgress progress) pure returns (address) {
    return address(uint160(PackedProgress.unwrap(progress)));
}

function stateOf(PackedProgress progress) pure returns (EscrowState) {
    return EscrowState(readField(PackedProgress.unwrap(progress), STATE_SHIFT, MAX_STATE));
}

/// @dev Unix seconds.
function createdAtOf(PackedProgress progress) pure returns (uint256) {
    return readField(PackedProgress.unwrap(progress), CREATED_AT_SHIFT, MAX_CREATED_AT);
}

/// @dev Unix seconds.
function deadlineOf(PackedProgress progress) pure returns (uint256) {
    uint256 seconds_ = readField(PackedProgress.unwrap(progress), DELIVERY_SECONDS_SHIFT, MAX_DELIVERY_SECONDS);
    unchecked {
        return createdAtOf(progress) + seconds_;
    }
}

/// @dev Unix seconds; the creation's before there is a delivery.
function deliveredAtOf(PackedProgress progress) pure returns (uint256) {
    uint256 seconds_ = readField(PackedProgress.unwrap(progress), DELIVERED_AFTER_SHIFT, MAX_DELIVERY_SECONDS);
    unchecked {
        return createdAtOf(progress) + seconds_;
    }
}

/// @dev Unix seconds; the delivery's before there is a dispute.
function disputedAtOf(PackedProgress progress) pure returns (uint256) {
    uint256 seconds_ = readField(PackedProgress.unwrap(progress), DISPUTED_AFTER_SHIFT, MAX_DISPUTE_WINDOW);
    unchecked {
        return deliveredAtOf(progress) + seconds_;
    }
}

/// @dev The progress in another state, everything else unchanged. Every state fits.
function withState(PackedProgress progress, EscrowState state) pure returns (PackedProgress) {
    uint256 word = PackedProgress.unwrap(progress) & ~(MAX_STATE << STATE_SHIFT);
    return PackedProgress.wrap(word | (uint256(state) << STATE_SHIFT));
}

/// @dev Funded to Delivered. `deliveredAt` is at or after the creation, and not after the deadline, so that it fits.
function withDelivery(PackedProgress progress, uint256 deliveredAt) pure returns (PackedProgress) {
    uint256 word = PackedProgress.unwrap(progress.withState(EscrowState.Delivered));
    uint256 seconds_;
    unchecked {
        seconds_ = deliveredAt - progress.createdAtOf(); // below zero it does not fit
    }
    return PackedProgress.wrap(writeField(word, DELIVERED_AFTER_SHIFT, MAX_DELIVERY_SECONDS, seconds_));
}

/// @dev Delivered to Disputed. `disputedAt` is at or after the delivery, and not after the dispute window, so that it
/// fits.
function withDispute(PackedProgress progress, uint256 disputedAt) pure returns (PackedProgress) {
    uint256 word = PackedProgress.unwrap(progress.withState(EscrowState.Disputed));
    uint256 seconds_;
    unchecked {
        seconds_ = disputedAt - progress.deliveredAtOf(); // below zero it does not fit
    }
    return PackedProgress.wrap(writeField(word, DISPUTED_AFTER_SHIFT, MAX_DISPUTE_WINDOW, seconds_));
}

function buyerOf(PackedDeposit deposit) pure returns (address) {
    return address(uint160(PackedDeposit.unwrap(deposit)));
}

/// @dev Seconds.
function disputeWindowOf(PackedDeposit deposit) pure returns (uint256) {
    return readField(PackedDeposit.unwrap(deposit), DISPUTE_WINDOW_SHIFT, MAX_DISPUTE_WINDOW);
}

/// @dev Seconds.
function abandonmentGraceOf(PackedDeposit deposit) pure returns (uint256) {
    return readField(PackedDeposit.unwrap(deposit), ABANDONMENT_GRACE_SHIFT, MAX_ABANDONMENT_GRACE);
}

function tokenIndexOf(PackedDeposit deposit) pure returns (uint256) {
    return readField(PackedDeposit.unwrap(deposit), TOKEN_INDEX_SHIFT, MAX_TOKEN_INDEX);
}

/// @dev Token units; 0 when slot 3 has the amount.
function inlineAmountOf(PackedDeposit deposit) pure returns (uint256) {
    return readField(PackedDeposit.unwrap(deposit), AMOUNT_SHIFT, MAX_INLINE_AMOUNT);
}
