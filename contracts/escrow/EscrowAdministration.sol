// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable2StepUpgradeable} from "@openzeppelin/contracts-upgradeable/access/Ownable2StepUpgradeable.sol";
import {UUPSUpgradeable} from "@openzeppelin/contracts/proxy/utils/UUPSUpgradeable.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";

import {IEscrow} from "../interfaces/IEscrow.sol";
import {ProtocolConstants} from "../libraries/ProtocolConstants.sol";
import {TokenValue} from "../libraries/TokenValue.sol";
import {TokenConfig, TokenListing} from "../types/EscrowTypes.sol";
import {MAX_TOKEN_INDEX} from "../types/StoredEscrow.sol";
import {StoredToken} from "../types/StoredToken.sol";
import {EscrowStorage} from "./EscrowStorage.sol";

/// @title Administration of the escrow contract
/// @notice Roles, tokens and the treasury. Nothing here touches an open escrow or a credit.
abstract contract EscrowAdministration is EscrowStorage, Ownable2StepUpgradeable, UUPSUpgradeable {
    /// @dev Sets everything that the contract needs, so that it is whole in the transaction that creates its proxy.
    function _initializeAdministration(
        address owner,
        address initialTreasury,
        address initialPauser,
        TokenListing[] calldata tokens
    ) internal onlyInitializing {
        // A call to an address without code succeeds and does nothing: scores would be lost without a sign.
        if (SCORE.code.length == 0) revert PeerWithoutCode(SCORE);
        if (RESOLVER.code.length == 0) revert PeerWithoutCode(RESOLVER);
        __Ownable_init(owner);
        _setTreasury(initialTreasury);
        _setPauser(initialPauser);
        for (uint256 i = 0; i < tokens.length; ++i) {
            _listToken(tokens[i].token, tokens[i].config);
        }
    }

    // ------------------------------------------------------------------------------------------
    // Owner
    // ------------------------------------------------------------------------------------------

    /// @inheritdoc IEscrow
    function listToken(address token, TokenConfig calldata config) external onlyOwner {
        _listToken(token, config);
    }

    /// @inheritdoc IEscrow
    function delistToken(address token) external onlyOwner {
        StoredToken storage stored = _data().tokens[token];
        if (stored.minAmount == 0) revert TokenNotListed(token);
        stored.minAmount = 0;
        if (token == MAIN_TOKEN) _data().mainTokenMinAmount = 0;
        emit TokenDelisted(token);
    }

    /// @inheritdoc IEscrow
    function setTreasury(address newTreasury) external onlyOwner {
        _setTreasury(newTreasury);
    }

    /// @inheritdoc IEscrow
    function transferPauser(address newPauser) external onlyOwner {
        EscrowData storage $ = _data();
        $.pendingPauser = newPauser;
        emit PauserTransferStarted($.pauser, newPauser);
    }

    /// @inheritdoc UUPSUpgradeable
    // The modifier is the whole rule.
    // solhint-disable-next-line no-empty-blocks
    function _authorizeUpgrade(address) internal override onlyOwner {}

    // ------------------------------------------------------------------------------------------
    // Pauser
    // ------------------------------------------------------------------------------------------

    /// @inheritdoc IEscrow
    function acceptPauser() external {
        address pending = _data().pendingPauser;
        if (msg.sender != pending) revert CallerNotPendingPauser(msg.sender, pending);
        _setPauser(pending);
    }

    /// @inheritdoc IEscrow
    function pause() external {
        EscrowData storage $ = _data();
        _requirePauser($);
        if ($.paused) revert NewEscrowsAlreadyPaused();
        $.paused = true;
        emit Paused(msg.sender);
    }

    /// @inheritdoc IEscrow
    function unpause() external {
        EscrowData storage $ = _data();
        _requirePauser($);
        if (!$.paused) revert NewEscrowsNotPaused();
        $.paused = false;
        emit Unpaused(msg.sender);
    }

    // ------------------------------------------------------------------------------------------
    // Views
    // ------------------------------------------------------------------------------------------

    /// @inheritdoc IEscrow
    function tokenConfig(address token) external view returns (TokenConfig memory) {
        StoredToken memory stored = _data().tokens[token];
        return
            TokenConfig({
                feed: stored.feed,
                maxPriceAge: stored.maxPriceAge,
                decimals: stored.decimals,
                listed: stored.minAmount != 0,
                minAmount: stored.minAmount
            });
    }

    /// @inheritdoc IEscrow
    function treasury() external view returns (address) {
        return _data().treasury;
    }

    /// @inheritdoc IEscrow
    function scoreContract() external view returns (address) {
        return SCORE;
    }

    /// @inheritdoc IEscrow
    function resolverContract() external view returns (address) {
        return RESOLVER;
    }

    /// @inheritdoc IEscrow
    function mainToken() external view returns (address) {
        return MAIN_TOKEN;
    }

    /// @inheritdoc IEscrow
    function paused() external view returns (bool) {
        return _data().paused;
    }

    /// @inheritdoc IEscrow
    function pauser() external view returns (address) {
        return _data().pauser;
    }

    /// @inheritdoc IEscrow
    function pendingPauser() external view returns (address) {
        return _data().pendingPauser;
    }

    // ------------------------------------------------------------------------------------------
    // Internal
    // ------------------------------------------------------------------------------------------

    function _requirePauser(EscrowData storage $) private view {
        address current = $.pauser;
        if (msg.sender != current) revert CallerNotPauser(msg.sender, current);
    }

    function _listToken(address token, TokenConfig calldata config) private {
        // Check: the valuation fits its slot, there is a feed to ask, and the token is the one that it is said to be
        if (config.minAmount < ProtocolConstants.LEAST_DEPOSIT || config.minAmount > type(uint56).max) {
            revert MinAmountOutOfRange(config.minAmount, ProtocolConstants.LEAST_DEPOSIT, type(uint56).max);
        }
        uint256 leastPriceAge = config.feed == address(0) ? 0 : 1;
        if (config.maxPriceAge < leastPriceAge || config.maxPriceAge > type(uint24).max) {
            revert MaxPriceAgeOutOfRange(config.maxPriceAge, leastPriceAge, type(uint24).max);
        }
        if (config.feed != address(0) && config.feed.code.length == 0) revert FeedWithoutCode(config.feed);
        if (token.code.length == 0) revert TokenWithoutCode(token);
        uint8 actual = IERC20Metadata(token).decimals();
        if (config.decimals != actual) revert TokenDecimalsMismatch(token, config.decimals, actual);
        if (actual > TokenValue.MAX_DECIMALS) revert DecimalsAboveMaximum(token, actual, TokenValue.MAX_DECIMALS);

        // Effect:
        EscrowData storage $ = _data();
        StoredToken storage stored = $.tokens[token];
        uint256 index = stored.index;
        if (index == 0) {
            index = ++$.tokenCount;
            if (index > MAX_TOKEN_INDEX) revert TooManyTokens(token, MAX_TOKEN_INDEX);
            if (index == MAIN_TOKEN_INDEX && token != MAIN_TOKEN) revert MainTokenNotFirst(token, MAIN_TOKEN);
            $.tokenAt[index] = token;
            stored.index = uint8(index);
        }
        stored.feed = config.feed;
        stored.maxPriceAge = uint24(config.maxPriceAge);
        stored.decimals = config.decimals;
        stored.minAmount = uint56(config.minAmount);
        if (token == MAIN_TOKEN) $.mainTokenMinAmount = TokenValue.isDollar(stored) ? uint56(config.minAmount) : 0;
        emit TokenListed(token, config.feed, config.maxPriceAge, config.decimals, config.minAmount);
    }

    function _setTreasury(address newTreasury) private {
        EscrowData storage $ = _data();
        if (newTreasury == address(0) || newTreasury == address(this)) revert InvalidTreasury(newTreasury);
        emit TreasurySet($.treasury, newTreasury);
        $.treasury = newTreasury;
    }

    function _setPauser(address newPauser) private {
        EscrowData storage $ = _data();
        if (newPauser == address(0)) revert InvalidPauser(newPauser);
        emit PauserTransferred($.pauser, newPauser);
        $.pauser = newPauser;
        $.pendingPauser = address(0);
    }
}
