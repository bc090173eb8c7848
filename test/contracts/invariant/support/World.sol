// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IEscrow} from "../../../../contracts/interfaces/IEscrow.sol";
import {IResolver} from "../../../../contracts/interfaces/IResolver.sol";
import {IScore} from "../../../../contracts/interfaces/IScore.sol";
import {ScoreOutcome, TokenConfig, TokenListing} from "../../../../contracts/types/EscrowTypes.sol";
import {MoodyToken} from "./MoodyToken.sol";
import {PriceFeed} from "./PriceFeed.sol";
import {create, vm} from "./Vm.sol";

/// @title The contracts under test and the people around them
/// @notice Three tokens, at the start: A, the main token, has 6 decimals and counts as one dollar, B has 18 decimals and
/// a price feed, C has 8 decimals and a price feed. Six traders, each with a key and a past; everyone else has none. One trader is a contract
/// that signs by ERC-1271, one has a key and code that refuses every call, like a wallet that delegated its code by
/// EIP-7702 to a contract without ERC-1271.
abstract contract World {
    struct Roles {
        address owner;
        address treasury;
        address pauser;
        address systemResolver;
        address adminResolver;
    }

    uint256 internal constant TRADERS = 6;
    uint256 internal constant TOKENS = 3;
    uint256 internal constant DELEGATED = 2;
    uint256 internal constant SMART_WALLET = 3;
    uint256 internal constant FIRST_KEY = 0xA11CE;
    /// @dev Everyone else has an address from here on: the first owner, pauser, system and admin resolver, a stranger,
    /// and two more who can take over a role.
    uint160 internal constant FIRST_PERSON = 0x0101;
    uint256 internal constant PEOPLE = 7;
    uint32 internal constant MAX_PRICE_AGE = 3_600;
    uint256 internal constant SCORE_PAST = 100;

    IEscrow public escrow;
    IScore public score;
    IResolver public resolver;
    MoodyToken[] public tokens;
    PriceFeed[] public feeds;

    /// @dev How each token is listed: its least deposit, and whether its feed values it or it counts as one dollar.
    uint96[TOKENS] internal leastDeposits = [10_000, 1e13, 2];
    bool[TOKENS] internal hasFeed = [false, true, true];

    /// @dev Who holds these roles now.
    address internal owner = _person(0);
    address internal pauser = _person(1);
    /// @dev The first holders of the resolver roles.
    address internal systemResolver = _person(2);
    address internal adminResolver = _person(3);
    address internal stranger = _person(4);
    /// @dev Two implementations with the same immutables each, to upgrade from one to the other and back.
    address[2] internal escrowCode;
    address[2] internal scoreCode;
    address[2] internal resolverCode;
    /// @dev Kept here because to derive an address from its key takes longer than most calls.
    address[TRADERS] private traders;
    address[2] internal treasuries = [address(0x0201), address(0x0202)];

    /// @dev The next block's time. Kept here because the compiler takes `block.timestamp` for constant in a call.
    uint256 internal time = 1_800_000_000;
    bytes internal scoreProxyCode;

    function _build() internal {
        vm.warp(time);
        for (uint256 i = 0; i < TRADERS; ++i) traders[i] = vm.addr(_key(i));
        traders[SMART_WALLET] = create(
            "contracts/mocks/SmartWallet.sol:SmartWallet",
            abi.encode(traders[SMART_WALLET])
        );
        vm.etch(traders[DELEGATED], hex"5f5ffd");
        tokens.push(new MoodyToken(6));
        tokens.push(new MoodyToken(18));
        tokens.push(new MoodyToken(8));
        feeds.push(new PriceFeed(8, _plainPrice(0)));
        feeds.push(new PriceFeed(8, _plainPrice(1)));
        feeds.push(new PriceFeed(18, _plainPrice(2)));

        TokenListing[] memory listings = new TokenListing[](TOKENS);
        for (uint256 i = 0; i < TOKENS; ++i) {
            listings[i] = TokenListing(address(tokens[i]), _config(i));
            feeds[i].set(feeds[i].answer(), time);
        }
        Roles memory roles = Roles(owner, treasuries[0], pauser, systemResolver, adminResolver);
        IDeployment deployment = IDeployment(
            create("contracts/MarketplaceDeployment.sol:MarketplaceDeployment", abi.encode(roles, listings))
        );
        escrow = IEscrow(deployment.escrow());
        score = IScore(deployment.score());
        resolver = IResolver(deployment.resolver());
        scoreProxyCode = address(score).code;
        escrowCode[0] = deployment.escrowImplementation();
        scoreCode[0] = deployment.scoreImplementation();
        resolverCode[0] = deployment.resolverImplementation();
        escrowCode[1] = create(
            "contracts/EscrowV2.sol:EscrowV2",
            abi.encode(address(score), address(resolver), address(tokens[0]))
        );
        scoreCode[1] = create("contracts/ScoreV2.sol:ScoreV2", abi.encode(address(escrow)));
        resolverCode[1] = create("contracts/ResolverV2.sol:ResolverV2", abi.encode(address(escrow)));

        for (uint256 i = 0; i < TRADERS; ++i) {
            for (uint256 t = 0; t < TOKENS; ++t) {
                tokens[t].mint(_trader(i), _purse());
                vm.prank(_trader(i));
                tokens[t].approve(address(escrow), type(uint256).max);
            }
        }
        for (uint256 t = 0; t < TOKENS; ++t) tokens[t].setReentry(escrow, bytes32(uint256(1)));
    }

    /// @dev What each trader has of each token at the start.
    function _purse() internal pure returns (uint256) {
        return uint256(type(uint128).max);
    }

    function _config(uint256 token) internal view returns (TokenConfig memory) {
        return
            TokenConfig({
                feed: hasFeed[token] ? address(feeds[token]) : address(0),
                maxPriceAge: hasFeed[token] ? MAX_PRICE_AGE : 0,
                decimals: tokens[token].decimals(),
                listed: true,
                minAmount: leastDeposits[token]
            });
    }

    /// @dev In units of the feed; not what the token would be worth without one.
    function _plainPrice(uint256 token) internal pure returns (int256) {
        return [int256(2e8), 3_000e8, 0.5e18][token];
    }

    /// @dev Gives a trader a history: the outcome, repeated, against a stranger.
    function _history(uint256 trader, ScoreOutcome outcome, uint256 times) internal {
        for (uint256 i = 0; i < times; ++i) {
            vm.prank(address(escrow));
            score.recordOutcome(bytes32(SCORE_PAST), stranger, _trader(trader), outcome);
        }
    }

    function _person(uint256 index) internal pure returns (address) {
        return address(FIRST_PERSON + uint160(index));
    }

    function _key(uint256 trader) internal pure returns (uint256) {
        return FIRST_KEY + trader;
    }

    function _trader(uint256 trader) internal view returns (address) {
        return traders[trader];
    }

    function _sign(uint256 trader, bytes32 digest) internal pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(_key(trader), digest);
        return abi.encodePacked(r, s, v);
    }
}

/// @title The part of the deployment that tells the addresses
interface IDeployment {
    function escrow() external view returns (address);
    function score() external view returns (address);
    function resolver() external view returns (address);
    function escrowImplementation() external view returns (address);
    function scoreImplementation() external view returns (address);
    function resolverImplementation() external view returns (address);
}
