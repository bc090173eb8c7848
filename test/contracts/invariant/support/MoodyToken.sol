// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

import {IEscrow} from "../../../../contracts/interfaces/IEscrow.sol";
import {EscrowTerms} from "../../../../contracts/types/EscrowTypes.sol";
import {vm} from "./Vm.sol";

/// @notice How the token treats a transfer to one recipient. Every mood up to `ReturnsShort` moves the tokens, every one
/// after it does not; `NeedsGas` does unless the transfer has less gas than a payout is promised.
enum Mood {
    Fine,
    NeedsGas,
    ReturnsNothing,
    Reenters,
    ReturnsBomb,
    ReturnsTwo,
    ReturnsShort,
    Reverts,
    RevertsBomb,
    ReturnsFalse,
    BurnsGas
}

/// @notice How the token treats a deposit.
enum DepositMood {
    Fine,
    KeepsFee,
    GivesMore,
    ReturnsFalse,
    Reverts,
    Reenters
}

/// @title A token with every bad manner that an escrow must live with
/// @notice An ERC-20 with EIP-3009, whose behaviour the test sets for each recipient.
contract MoodyToken {
    bytes32 public constant RECEIVE_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );

    /// @notice What is there when a transfer begins that was called with the 200,000 gas of a payout, rounded down.
    uint256 public constant NEEDED_GAS = 197_500;

    uint8 public immutable decimals;
    mapping(address holder => uint256) public balanceOf;
    mapping(address holder => mapping(address spender => uint256)) public allowance;
    mapping(address authorizer => mapping(bytes32 nonce => bool)) public authorizationState;
    mapping(address recipient => Mood) public moodFor;
    DepositMood public depositMood;

    IEscrow private escrow;
    bytes32 private reentryId;
    /// @notice Calls into the escrow during a transfer that the guard did not stop. None may be.
    uint256 public breaches;
    /// @notice Calls into the escrow during a transfer that were tried.
    uint256 public attempts;

    error Refused(address recipient);
    error TooLittleGas(uint256 available, uint256 needed);
    error InvalidAuthorization();

    constructor(uint8 decimals_) {
        decimals = decimals_;
    }

    function mint(address recipient, uint256 amount) external {
        balanceOf[recipient] += amount;
    }

    function setMood(address recipient, Mood mood) external {
        moodFor[recipient] = mood;
    }

    function setDepositMood(DepositMood mood) external {
        depositMood = mood;
    }

    /// @notice The escrow to call back, and the id to name when doing so.
    function setReentry(IEscrow target, bytes32 escrowId) external {
        escrow = target;
        reentryId = escrowId;
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        return true;
    }

    function transfer(address recipient, uint256 amount) external returns (bool) {
        uint256 available = gasleft();
        Mood mood = moodFor[recipient];
        if (mood == Mood.NeedsGas && available < NEEDED_GAS) revert TooLittleGas(available, NEEDED_GAS);
        if (mood == Mood.Reverts) revert Refused(recipient);
        if (mood == Mood.ReturnsFalse) return false;
        if (mood == Mood.RevertsBomb || mood == Mood.BurnsGas) _refuse(mood == Mood.RevertsBomb);
        if (mood == Mood.Reenters) _reenter(recipient);
        _move(msg.sender, recipient, amount);
        if (mood == Mood.ReturnsNothing) _answer(0, 0);
        if (mood == Mood.ReturnsBomb) _answer(1, 100_000);
        if (mood == Mood.ReturnsTwo) _answer(2, 32);
        if (mood == Mood.ReturnsShort) _answer(0, 31);
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        allowance[from][msg.sender] -= amount;
        return _deposit(from, to, amount);
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external {
        if (msg.sender != to || block.timestamp <= validAfter || block.timestamp >= validBefore) {
            revert InvalidAuthorization();
        }
        if (authorizationState[from][nonce] || signature.length != 65) revert InvalidAuthorization();
        bytes32 digest = authorizationDigest(from, to, value, validAfter, validBefore, nonce);
        (bytes32 r, bytes32 s) = abi.decode(signature[:64], (bytes32, bytes32));
        bool isSigned =
            ecrecover(digest, uint8(signature[64]), r, s) == from ||
                SignatureChecker.isValidERC1271SignatureNow(from, digest, signature);
        if (!isSigned) revert InvalidAuthorization();
        authorizationState[from][nonce] = true;
        _deposit(from, to, value);
    }

    /// @notice What the holder signs.
    function authorizationDigest(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce
    ) public view returns (bytes32) {
        bytes32 domain = keccak256(abi.encode("MoodyToken", block.chainid, address(this)));
        return
            keccak256(
                abi.encodePacked(
                    hex"1901",
                    domain,
                    keccak256(
                        abi.encode(RECEIVE_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce)
                    )
                )
            );
    }

    function _deposit(address from, address to, uint256 amount) private returns (bool) {
        if (depositMood == DepositMood.Reverts) revert Refused(to);
        if (depositMood == DepositMood.ReturnsFalse) return false;
        if (depositMood == DepositMood.Reenters) _reenter(from);
        _move(from, to, amount);
        if (depositMood == DepositMood.KeepsFee) balanceOf[to] -= 1;
        if (depositMood == DepositMood.GivesMore) balanceOf[to] += 1;
        return true;
    }

    function _move(address from, address to, uint256 amount) private {
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
    }

    /// @dev Ends the call with `size` bytes that start with `word`.
    function _answer(uint256 word, uint256 size) private pure {
        assembly ("memory-safe") {
            let answer := mload(0x40)
            mstore(answer, word)
            return(answer, size)
        }
    }

    /// @dev Ends the call with a long error, or with no gas left.
    function _refuse(bool withBomb) private pure {
        assembly ("memory-safe") {
            if iszero(withBomb) {
                invalid()
            }
            let answer := mload(0x40)
            mstore(answer, 1)
            revert(answer, 100000)
        }
    }

    /// @dev As the recipient and as a stranger, guarded calls that one of them might get something out of; the unit tests
    /// try the other two, createEscrow and resolve, as well.
    function _reenter(address recipient) private {
        bytes32[] memory ids = new bytes32[](0);
        _try(recipient, abi.encodeCall(IEscrow.withdraw, (address(this))));
        _try(recipient, abi.encodeCall(IEscrow.withdrawTo, (address(this), address(1))));
        _try(recipient, abi.encodeCall(IEscrow.accept, (reentryId)));
        _try(recipient, abi.encodeCall(IEscrow.refund, (reentryId)));
        _try(recipient, abi.encodeCall(IEscrow.refundMany, (ids)));
        _try(recipient, abi.encodeCall(IEscrow.claimAbandoned, (reentryId)));
        _try(address(this), abi.encodeCall(IEscrow.finalize, (reentryId)));
        _try(address(this), abi.encodeCall(IEscrow.resolveExpired, (reentryId)));
        _try(address(this), abi.encodeCall(IEscrow.retryScore, (reentryId)));
        EscrowTerms memory terms;
        _try(address(this), abi.encodeCall(IEscrow.createEscrowWithAuthorization, (terms, 0, 0, "")));
    }

    function _try(address caller, bytes memory data) private {
        ++attempts;
        vm.prank(caller);
        (bool done, bytes memory answer) = address(escrow).call{gas: 20_000}(data);
        bytes4 guard = ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector;
        if (done || answer.length != 4 || bytes4(answer) != guard) ++breaches;
    }
}
