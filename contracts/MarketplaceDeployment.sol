// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC1967Proxy} from "@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol";

import {EscrowV2} from "./EscrowV2.sol";
import {ResolverV2} from "./ResolverV2.sol";
import {ScoreV2} from "./ScoreV2.sol";
import {TokenListing} from "./types/EscrowTypes.sol";

/// @title Birth of the three contracts
/// @notice Creates the three proxies in one transaction, each initialized with the addresses of the others: there is
/// no moment in which one of them is half set up or lies open to a stranger. It keeps no power over them.
contract MarketplaceDeployment {
    /// @param escrow implementation
    /// @param score implementation
    /// @param resolver implementation
    struct Implementations {
        address escrow;
        address score;
        address resolver;
    }

    /// @param owner of all three contracts
    struct Roles {
        address owner;
        address treasury;
        address pauser;
        address systemResolver;
        address adminResolver;
    }

    /// @notice Thrown when a proxy did not get the address that the others were told.
    error UnexpectedAddress(address expected, address actual);

    // They are read like the getters of the other contracts.
    // solhint-disable immutable-vars-naming
    /// @notice The proxies.
    address public immutable escrow;
    address public immutable score;
    address public immutable resolver;
    /// @notice The block in which the proxies were created.
    uint256 public immutable startBlock;
    // solhint-enable immutable-vars-naming

    constructor(Implementations memory implementations, Roles memory roles, TokenListing[] memory tokens) {
        address expectedEscrow = _addressOfCreation(3);
        score = address(
            new ERC1967Proxy(implementations.score, abi.encodeCall(ScoreV2.initialize, (roles.owner, expectedEscrow)))
        );
        resolver = address(
            new ERC1967Proxy(
                implementations.resolver,
                abi.encodeCall(
                    ResolverV2.initialize,
                    (roles.owner, expectedEscrow, roles.systemResolver, roles.adminResolver)
                )
            )
        );
        escrow = address(
            new ERC1967Proxy(
                implementations.escrow,
                abi.encodeCall(
                    EscrowV2.initialize,
                    (roles.owner, roles.treasury, roles.pauser, score, resolver, tokens)
                )
            )
        );
        if (escrow != expectedEscrow) revert UnexpectedAddress(expectedEscrow, escrow);
        startBlock = block.number;
    }

    /// @dev Address of the n-th contract that this one creates, for n up to 127: keccak256(rlp([this, n])).
    function _addressOfCreation(uint8 n) private view returns (address) {
        return address(uint160(uint256(keccak256(abi.encodePacked(hex"d694", address(this), n)))));
    }
}
