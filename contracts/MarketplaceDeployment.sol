// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC1967Proxy} from "@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol";

import {EscrowV2} from "./EscrowV2.sol";
import {ResolverV2} from "./ResolverV2.sol";
import {ScoreV2} from "./ScoreV2.sol";
import {TokenListing} from "./types/EscrowTypes.sol";

/// @title Birth of the three contracts
/// @notice Creates the three implementations and their proxies in one transaction. Each implementation has the addresses
/// of the others' proxies as immutables, computed before they exist: there is no moment in which one of them is half set
/// up or lies open to a stranger. It keeps no power over them.
contract MarketplaceDeployment {
    /// @param owner of all three contracts
    struct Roles {
        address owner;
        address treasury;
        address pauser;
        address systemResolver;
        address adminResolver;
    }

    /// @notice Thrown when there is no token to be the main token.
    error NoTokens();
    /// @notice Thrown when a proxy did not get the address that the others were told.
    error UnexpectedAddress(address expected, address actual);

    /// @dev Which of this contract's creations the proxies are.
    uint8 private constant SCORE_PROXY = 4;
    uint8 private constant RESOLVER_PROXY = 5;
    uint8 private constant ESCROW_PROXY = 6;

    // They are read like the getters of the other contracts.
    // solhint-disable immutable-vars-naming
    /// @notice The proxies.
    address public immutable escrow;
    address public immutable score;
    address public immutable resolver;
    /// @notice The implementations that they were created with.
    address public immutable escrowImplementation;
    address public immutable scoreImplementation;
    address public immutable resolverImplementation;
    /// @notice The block in which they were created.
    uint256 public immutable startBlock;
    // solhint-enable immutable-vars-naming

    /// @param tokens that new escrows may use; the first is the main token
    constructor(Roles memory roles, TokenListing[] memory tokens) {
        if (tokens.length == 0) revert NoTokens();
        (score, resolver, escrow) = (
            _addressOfCreation(SCORE_PROXY),
            _addressOfCreation(RESOLVER_PROXY),
            _addressOfCreation(ESCROW_PROXY)
        );
        startBlock = block.number;

        escrowImplementation = address(new EscrowV2(score, resolver, tokens[0].token));
        scoreImplementation = address(new ScoreV2(escrow));
        resolverImplementation = address(new ResolverV2(escrow));
        _createProxy(score, scoreImplementation, abi.encodeCall(ScoreV2.initialize, (roles.owner)));
        _createProxy(
            resolver,
            resolverImplementation,
            abi.encodeCall(ResolverV2.initialize, (roles.owner, roles.systemResolver, roles.adminResolver))
        );
        _createProxy(
            escrow,
            escrowImplementation,
            abi.encodeCall(EscrowV2.initialize, (roles.owner, roles.treasury, roles.pauser, tokens))
        );
    }

    function _createProxy(address expected, address implementation, bytes memory initialization) private {
        address actual = address(new ERC1967Proxy(implementation, initialization));
        if (actual != expected) revert UnexpectedAddress(expected, actual);
    }

    /// @dev Address of the n-th contract that this one creates, for n up to 127: keccak256(rlp([this, n])).
    function _addressOfCreation(uint8 n) private view returns (address) {
        return address(uint160(uint256(keccak256(abi.encodePacked(hex"d694", address(this), n)))));
    }
}
