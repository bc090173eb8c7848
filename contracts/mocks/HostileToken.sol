// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title A token that turns hostile
/// @notice Plain with 6 decimals until a test changes its mood, so that an escrow can be funded before.
contract HostileToken is ERC20 {
    enum Mood {
        Plain,
        Paused, // every transfer reverts
        ReturnsFalse, // moves nothing and returns false
        ReturnsNothing, // moves and returns no data
        ReturnsShort, // moves and returns one byte
        ReturnsTwo, // moves and returns the number 2
        TakesFee, // the recipient gets 1% less
        BurnsGas, // every transfer uses all its gas
        LongAnswer, // reverts with a long answer
        Reenters, // calls `target` with `callback` before it moves
        LiesOnDeposit, // transferFrom moves nothing and returns true
        DrainsOnDeposit, // transferFrom takes from the recipient
        NeedsGas, // a transfer that is begun with less than NEEDED_GAS reverts
        ReturnsLongFalse // moves nothing and returns two words of zeros
    }

    /// @notice What is there when a transfer begins that was called with the 200,000 gas of a payout, rounded down: the
    /// way into the function has cost a few hundred.
    uint256 public constant NEEDED_GAS = 197_500;

    Mood public mood;
    mapping(address account => bool) public denied;
    address public target;
    bytes public callback;
    bool public callbackSucceeded;
    bytes public callbackAnswer;

    error TransfersPaused();
    error AccountDenied(address account);
    error TooLittleGas(uint256 available, uint256 needed);

    constructor() ERC20("Hostile", "HOST") {}

    /// @notice Creates `amount` token units for `recipient`.
    function mint(address recipient, uint256 amount) external {
        _mint(recipient, amount);
    }

    /// @notice Changes what transfers do.
    function setMood(Mood newMood) external {
        mood = newMood;
    }

    /// @notice Puts an account on the deny list or takes it off.
    function setDenied(address account, bool isDenied) external {
        denied[account] = isDenied;
    }

    /// @notice Sets the call that the mood `Reenters` makes.
    function setCallback(address newTarget, bytes calldata data) external {
        target = newTarget;
        callback = data;
    }

    /// @notice EIP-3009 without its signature: the allowance replaces it.
    function receiveWithAuthorization(
        address sender,
        address recipient,
        uint256 amount,
        uint256,
        uint256,
        bytes32,
        bytes calldata
    ) external {
        transferFrom(sender, recipient, amount);
    }

    /// @inheritdoc ERC20
    function transfer(address recipient, uint256 amount) public override returns (bool) {
        uint256 available = gasleft();
        if (mood == Mood.NeedsGas && available < NEEDED_GAS) revert TooLittleGas(available, NEEDED_GAS);
        return _move(msg.sender, recipient, amount);
    }

    /// @inheritdoc ERC20
    function transferFrom(address sender, address recipient, uint256 amount) public override returns (bool) {
        if (mood == Mood.LiesOnDeposit) return true;
        if (mood == Mood.DrainsOnDeposit) {
            _burn(recipient, 1);
            return true;
        }
        _spendAllowance(sender, msg.sender, amount);
        return _move(sender, recipient, amount);
    }

    /// @inheritdoc ERC20
    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function _move(address sender, address recipient, uint256 amount) private returns (bool) {
        if (denied[sender]) revert AccountDenied(sender);
        if (denied[recipient]) revert AccountDenied(recipient);
        Mood current = mood;
        if (current == Mood.Paused) revert TransfersPaused();
        if (current == Mood.ReturnsFalse) return false;
        if (current == Mood.ReturnsLongFalse) _answer(0, 64);
        if (current == Mood.BurnsGas) _burnGas();
        if (current == Mood.LongAnswer) _answerLong();
        if (current == Mood.Reenters) {
            (callbackSucceeded, callbackAnswer) = target.call(callback);
        }
        uint256 fee = current == Mood.TakesFee ? amount / 100 : 0;
        _transfer(sender, recipient, amount - fee);
        if (fee > 0) _burn(sender, fee);
        if (current == Mood.ReturnsNothing) _answer(0, 0);
        if (current == Mood.ReturnsShort) _answer(1, 1);
        if (current == Mood.ReturnsTwo) _answer(2, 32);
        return true;
    }

    function _burnGas() private view {
        while (gasleft() > 0) {}
    }

    function _answerLong() private pure {
        assembly ("memory-safe") {
            revert(0, 100000)
        }
    }

    function _answer(uint256 word, uint256 size) private pure {
        assembly ("memory-safe") {
            mstore(0x00, word)
            mstore(0x20, 0)
            return(0x00, size)
        }
    }
}
