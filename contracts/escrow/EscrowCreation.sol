// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

import {IEscrow} from "../interfaces/IEscrow.sol";
import {IReceiveWithAuthorization} from "../interfaces/IReceiveWithAuthorization.sol";
import {IScore} from "../interfaces/IScore.sol";
import {FeeMath} from "../libraries/FeeMath.sol";
import {JobValueCaps} from "../libraries/JobValueCaps.sol";
import {ProtocolConstants} from "../libraries/ProtocolConstants.sol";
import {TokenValue} from "../libraries/TokenValue.sol";
import {EscrowState, EscrowTerms, SellerTerms} from "../types/EscrowTypes.sol";
import {
    MAX_DELIVERY_SECONDS,
    MAX_INLINE_AMOUNT,
    StoredEscrow,
    packDeposit,
    packProgress
} from "../types/StoredEscrow.sol";
import {StoredToken} from "../types/StoredToken.sol";
import {EscrowSettlement} from "./EscrowSettlement.sol";

/// @title Creation of escrows
/// @notice None to Funded, with every check on the terms and the deposit.
abstract contract EscrowCreation is EscrowSettlement {
    using SafeERC20 for IERC20;

    bytes32 private constant AUTHORIZATION_TYPEHASH = keccak256(
        "CreateEscrow(uint256 chainId,address escrowContract,bytes32 escrowId,address buyer,address seller,uint256 amount,address token,uint256 deadline,uint256 disputeWindow,uint256 abandonmentGrace,bytes32 criteriaHash)"
    );

    /// @inheritdoc IEscrow
    function createEscrow(
        bytes32 escrowId,
        address seller,
        uint256 amount,
        address token,
        uint256 deadline,
        uint256 disputeWindow,
        uint256 abandonmentGrace,
        bytes32 criteriaHash
    ) external nonReentrant {
        // Check: and Effect:
        (uint256 fee, address feeRecipient) = _open(
            EscrowTerms({
                escrowId: escrowId,
                buyer: msg.sender,
                seller: seller,
                amount: amount,
                token: token,
                deadline: deadline,
                disputeWindow: disputeWindow,
                abandonmentGrace: abandonmentGrace,
                criteriaHash: criteriaHash
            })
        );

        // Interaction:
        uint256 balanceBefore = IERC20(token).balanceOf(address(this));
        IERC20(token).safeTransferFrom(msg.sender, address(this), amount);
        _requireDeposit(token, balanceBefore, amount);
        _payOut(escrowId, token, feeRecipient, fee);
    }

    /// @inheritdoc IEscrow
    function createEscrowWithAuthorization(
        EscrowTerms calldata terms,
        uint256 validAfter,
        uint256 validBefore,
        bytes calldata signature
    ) external nonReentrant {
        // Check: and Effect:
        (uint256 fee, address feeRecipient) = _open(terms);

        // Interaction: the token verifies the buyer's signature, whose nonce binds the terms
        uint256 balanceBefore = IERC20(terms.token).balanceOf(address(this));
        IReceiveWithAuthorization(terms.token).receiveWithAuthorization(
            terms.buyer,
            address(this),
            terms.amount,
            validAfter,
            validBefore,
            _authorizationNonce(terms),
            signature
        );
        _requireDeposit(terms.token, balanceBefore, terms.amount);
        _payOut(terms.escrowId, terms.token, feeRecipient, fee);
    }

    /// @inheritdoc IEscrow
    function setSellerTerms(uint64 minAmountUsd, uint32 minDeliverySeconds, bool isPaused) external {
        _data().sellerTerms[msg.sender] = SellerTerms(minAmountUsd, minDeliverySeconds, isPaused);
        emit SellerTermsSet(msg.sender, minAmountUsd, minDeliverySeconds, isPaused);
    }

    /// @inheritdoc IEscrow
    function authorizationNonce(EscrowTerms calldata terms) external view returns (bytes32) {
        return _authorizationNonce(terms);
    }

    /// @inheritdoc IEscrow
    function usdValue(address token, uint256 amount) external view returns (uint256) {
        StoredToken storage config = _data().tokens[token];
        if (config.minAmount == 0) revert TokenNotListed(token);
        if (amount > TokenValue.MAX_AMOUNT) revert AmountAboveMaximum(amount, TokenValue.MAX_AMOUNT);
        return TokenValue.usdValue(config, amount);
    }

    /// @inheritdoc IEscrow
    function sellerTerms(address seller) external view returns (SellerTerms memory) {
        return _data().sellerTerms[seller];
    }

    // ------------------------------------------------------------------------------------------
    // Internal
    // ------------------------------------------------------------------------------------------

    /// @dev Checks the terms, writes the record and announces it. The deposit must follow in the same transaction.
    /// @return fee platform fee in token units
    /// @return feeRecipient the treasury
    function _open(EscrowTerms memory terms) private returns (uint256 fee, address feeRecipient) {
        EscrowData storage $ = _data();
        // Slot 0, read once.
        bool isPaused = $.paused;
        uint256 mainTokenMinAmount = $.mainTokenMinAmount;
        feeRecipient = $.treasury;

        // Check: identity
        if (isPaused) revert NewEscrowsPaused();
        if (terms.escrowId == bytes32(0)) revert InvalidEscrowId(terms.escrowId);
        if (terms.seller == address(0) || terms.seller == address(this)) revert InvalidSeller(terms.seller);
        if (terms.seller == terms.buyer) revert BuyerIsSeller(terms.buyer);
        StoredEscrow storage stored = $.escrows[terms.escrowId];
        if (stored.progress.stateOf() != EscrowState.None) revert EscrowAlreadyExists(terms.escrowId);

        // Check: times
        uint256 disputeWindow = _disputeWindowOrDefault(terms.disputeWindow);
        uint256 abandonmentGrace = _abandonmentGraceOrDefault(terms.abandonmentGrace);
        uint256 deliverySeconds = _deliverySeconds(terms.deadline);

        // Check: value
        (uint256 tokenIndex, uint256 valueUsd) = _checkedDeposit($, mainTokenMinAmount, terms.token, terms.amount);
        _requireSellerTerms($, terms.seller, valueUsd, deliverySeconds);
        _requireWithinCaps(terms.buyer, terms.seller, valueUsd);

        // Effect:
        stored.progress = packProgress(terms.seller, block.timestamp, deliverySeconds);
        stored.deposit = packDeposit(terms.buyer, disputeWindow, abandonmentGrace, tokenIndex, terms.amount);
        stored.criteriaHash = terms.criteriaHash;
        if (terms.amount > MAX_INLINE_AMOUNT) stored.largeAmount = terms.amount;

        fee = FeeMath.feeOf(terms.amount);
        emit EscrowCreated(
            terms.escrowId,
            terms.buyer,
            terms.seller,
            terms.token,
            terms.amount,
            fee,
            terms.deadline,
            disputeWindow,
            abandonmentGrace,
            terms.criteriaHash,
            valueUsd
        );
    }

    /// @dev Seconds; 0 means the default.
    function _disputeWindowOrDefault(uint256 asked) private pure returns (uint256) {
        if (asked == 0) return ProtocolConstants.DEFAULT_DISPUTE_WINDOW_SECONDS;
        uint256 minimum = ProtocolConstants.MIN_DISPUTE_WINDOW_SECONDS;
        uint256 maximum = ProtocolConstants.MAX_DISPUTE_WINDOW_SECONDS;
        if (asked < minimum || asked > maximum) revert DisputeWindowOutOfRange(asked, minimum, maximum);
        return asked;
    }

    /// @dev Seconds; 0 means the default.
    function _abandonmentGraceOrDefault(uint256 asked) private pure returns (uint256) {
        if (asked == 0) return ProtocolConstants.DEFAULT_ABANDONMENT_GRACE_SECONDS;
        uint256 minimum = ProtocolConstants.MIN_ABANDONMENT_GRACE_SECONDS;
        uint256 maximum = ProtocolConstants.MAX_ABANDONMENT_GRACE_SECONDS;
        if (asked < minimum || asked > maximum) revert AbandonmentGraceOutOfRange(asked, minimum, maximum);
        return asked;
    }

    /// @dev Seconds from now to a deadline in range.
    function _deliverySeconds(uint256 deadline) private view returns (uint256) {
        unchecked {
            uint256 earliest = block.timestamp + ProtocolConstants.MIN_DELIVERY_SECONDS;
            if (deadline < earliest) revert DeadlineTooEarly(deadline, earliest);
            uint256 latest = block.timestamp + MAX_DELIVERY_SECONDS;
            if (deadline > latest) revert DeadlineTooLate(deadline, latest);
            return deadline - block.timestamp;
        }
    }

    /// @dev The token's index in the list and the deposit's value in USD, for a listed token and an amount in range.
    function _checkedDeposit(
        EscrowData storage $,
        uint256 mainTokenMinAmount,
        address token,
        uint256 amount
    ) private view returns (uint256 tokenIndex, uint256 valueUsd) {
        // The main token as one dollar is read with slot 0; every other valuation has a slot of its own.
        bool isMain = token == MAIN_TOKEN && mainTokenMinAmount != 0;
        uint256 minAmount = mainTokenMinAmount;
        StoredToken storage config = $.tokens[token];
        if (!isMain) minAmount = config.minAmount;
        if (minAmount == 0) revert TokenNotListed(token);
        if (amount < minAmount) revert AmountBelowMinimum(amount, minAmount);
        if (amount > TokenValue.MAX_AMOUNT) revert AmountAboveMaximum(amount, TokenValue.MAX_AMOUNT);
        if (isMain) return (MAIN_TOKEN_INDEX, amount);
        return (config.index, TokenValue.usdValue(config, amount));
    }

    /// @dev Sellers may protect themselves from escrows that nobody agreed on.
    function _requireSellerTerms(
        EscrowData storage $,
        address seller,
        uint256 valueUsd,
        uint256 deliverySeconds
    ) private view {
        SellerTerms storage asked = $.sellerTerms[seller];
        if (asked.paused) revert SellerPaused(seller);
        if (valueUsd < asked.minAmountUsd) revert BelowSellerMinimum(seller, valueUsd, asked.minAmountUsd);
        if (deliverySeconds < asked.minDeliverySeconds) {
            revert DeliveryTimeBelowSellerMinimum(seller, deliverySeconds, asked.minDeliverySeconds);
        }
    }

    /// @dev Every score allows the lowest cap, so a job within it does not pay for the look at the score contract.
    function _requireWithinCaps(address buyer, address seller, uint256 valueUsd) private view {
        if (valueUsd <= JobValueCaps.LOWEST_CAP_USD) return;
        (uint256 capUsd, address cappedAgent) = IScore(SCORE).jobValueCap(buyer, seller);
        if (valueUsd > capUsd) revert JobValueCapExceeded(cappedAgent, valueUsd, capUsd);
    }

    /// @dev A token that keeps a fee on transfers or rebases cannot be used unnoticed.
    function _requireDeposit(address token, uint256 balanceBefore, uint256 amount) private view {
        uint256 balance = IERC20(token).balanceOf(address(this));
        uint256 received = balance > balanceBefore ? balance - balanceBefore : 0;
        if (received != amount) revert TransferAmountMismatch(token, amount, received);
    }

    function _authorizationNonce(EscrowTerms calldata terms) private view returns (bytes32) {
        return keccak256(abi.encode(AUTHORIZATION_TYPEHASH, block.chainid, address(this), terms));
    }
}
