// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {UUPSUpgradeable} from "@openzeppelin/contracts/proxy/utils/UUPSUpgradeable.sol";

import {IScore} from "../../contracts/interfaces/IScore.sol";
import {ResolvedBy, ScoreOutcome} from "../../contracts/types/EscrowTypes.sol";
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
        _useMoodyEscrow();
        _createProxy(REAL_SCORE, bytes.concat(vm.envBytes("CREATION_OF_SCORE"), abi.encode(ESCROW)));
        IOwned(REAL_SCORE).initialize(OWNER);
        svm.enableSymbolicStorage(REAL_SCORE);
    }

    function check_systemTenuresNeverGrow() public {
        _requireTenuresKept(ResolvedBy.System);
    }

    function check_adminTenuresNeverGrow() public {
        _requireTenuresKept(ResolvedBy.Admin);
    }

    function check_systemRolesStayInOrder() public {
        _requireOrderKept(ResolvedBy.System);
    }

    function check_adminRolesStayInOrder() public {
        _requireOrderKept(ResolvedBy.Admin);
    }

    /// @dev Must fail: an account may come to rule the escrows of the next second.
    function refute_nobodyComesToRuleLaterEscrows() public {
        address account = svm.createAddress("account");
        uint256 time = _anyTime();
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

    /// @dev What the proofs assume of stored roles holds after every call again.
    function _requireOrderKept(ResolvedBy role) private {
        uint256 time = _anyTime();
        _anyHolders(role);
        vm.assume(_areInOrder(role, time));
        _callAnything(RESOLVER, "ResolverV2");
        assert(_areInOrder(role, time));
    }

    /// @dev Every tenure keeps its beginning and its end, except that the present holder's may end now, and a revocation stays.
    /// Nobody else gets a tenure that covers an existing escrow.
    function _requireTenuresKept(ResolvedBy role) private {
        uint256 time = _anyTime();
        _anyHolders(role);
        vm.assume(_areInOrder(role, time));
        address account = svm.createAddress("account");
        uint256 tenure = _tenureOf(role, account);
        _callAnything(RESOLVER, "ResolverV2");
        uint256 later = _tenureOf(role, account);

        (uint256 until, uint256 laterUntil) = (uint64(tenure >> 64), uint64(later >> 64));
        bool ended = both(until == type(uint64).max, laterUntil == time);
        bool kept = both(uint64(later) == uint64(tenure), either(laterUntil == until, ended));
        kept = both(kept, either(uint8(tenure >> 128) == 0, uint8(later >> 128) != 0));
        unchecked {
            bool began = both(uint64(tenure) == 0, uint64(later) == time + 1);
            assert(either(kept, began));
        }
        uint256 createdAt = svm.createUint(40, "createdAt");
        vm.assume(createdAt <= time);
        assert(either(_covers(tenure, createdAt), !_covers(later, createdAt)));
    }

    function _anyTime() private returns (uint256 time) {
        time = svm.createUint(40, "time");
        vm.warp(time);
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
