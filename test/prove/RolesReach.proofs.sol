// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {UUPSUpgradeable} from "@openzeppelin/contracts/proxy/utils/UUPSUpgradeable.sol";

import {IScore} from "../../contracts/interfaces/IScore.sol";
import {ResolvedBy, ScoreOutcome} from "../../contracts/types/EscrowTypes.sol";
import {MoodyEscrow} from "./support/Peers.sol";
import {ResolverWorld} from "./support/ResolverWorld.sol";

interface IOwned {
    function initialize(address owner) external;
}

/// @notice What no call reaches in the resolver and the score contract: any function with any arguments by anyone, also the
/// owner and the pauser, but an upgrade.
contract RolesReachProofs is ResolverWorld {
    uint256 private constant SCORE_STORAGE = 0xeed4a9d0513dc1127c294e385ec4e19feb02ba809283c30a3b15ae6b5c144b00;
    address private constant REAL_SCORE = address(0x5C0F);

    function setUp() public override {
        super.setUp();
        vm.etch(ESCROW, type(MoodyEscrow).runtimeCode);
        _createProxy(REAL_SCORE, bytes.concat(vm.envBytes("CREATION_OF_SCORE"), abi.encode(ESCROW)));
        IOwned(REAL_SCORE).initialize(OWNER);
        svm.enableSymbolicStorage(REAL_SCORE);
    }

    /// @dev Must fail: an account may come to rule the escrows of the next second.
    function refute_nobodyComesToRuleLaterEscrows() public {
        address account = svm.createAddress("account");
        uint256 time = svm.createUint(63, "time");
        vm.warp(time);
        _anyHolders(ResolvedBy.System);
        bool before = _covers(_tenureOf(ResolvedBy.System, account), time + 1);
        _callAnything(RESOLVER, "ResolverV2");
        assert(either(before, !_covers(_tenureOf(ResolvedBy.System, account), time + 1)));
    }

    /// @dev No score changes but by the escrow contract.
    function check_scoresChangeByTheEscrowOnly() public {
        address account = svm.createAddress("account");
        uint256 score = _scoreOf(account);
        address caller = _callAnything(REAL_SCORE, "ScoreV2");
        assert(either(caller == ESCROW, _scoreOf(account) == score));
    }

    function check_scoresChangeByTheTable(uint8 outcome, bytes32 id) public {
        vm.assume(outcome < 5);
        address caller = svm.createAddress("caller");
        (uint256 buyerScore, uint256 sellerScore) = (_scoreOf(BUYER), _scoreOf(SELLER));
        (bool ok, ) = _call(
            caller,
            REAL_SCORE,
            abi.encodeCall(IScore.recordOutcome, (id, BUYER, SELLER, ScoreOutcome(outcome)))
        );
        assert(ok == (caller == ESCROW));
        if (!ok) return;
        unchecked {
            uint256 toBuyer = choose(outcome < 2, 1, choose(outcome == 2, uint256(0) - 3, 0));
            uint256 toSeller = choose(either(outcome == 0, outcome == 2), 1, 0);
            toSeller = choose(outcome == 1, uint256(0) - 3, choose(outcome == 4, uint256(0) - 5, toSeller));
            assert(both(_scoreOf(BUYER) == buyerScore + toBuyer, _scoreOf(SELLER) == sellerScore + toSeller));
        }
    }

    function _callAnything(address target, string memory name) private returns (address caller) {
        caller = svm.createAddress("caller");
        bytes memory data = svm.createCalldata(name);
        vm.assume(bytes4(data) != UUPSUpgradeable.upgradeToAndCall.selector);
        _call(caller, target, data);
    }

    function _scoreOf(address account) private view returns (uint256) {
        return uint256(vm.load(REAL_SCORE, keccak256(abi.encode(account, SCORE_STORAGE))));
    }
}
