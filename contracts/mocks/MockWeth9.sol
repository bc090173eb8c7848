// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title WETH9 for local chains and tests
/// @notice Wrapped ether as deployed on Base. No setup is in storage.
contract MockWeth9 {
    string public constant name = "Wrapped Ether";
    string public constant symbol = "WETH";
    uint8 public constant decimals = 18;

    mapping(address holder => uint256) public balanceOf;
    mapping(address holder => mapping(address spender => uint256)) public allowance;

    event Approval(address indexed src, address indexed guy, uint256 wad);
    event Transfer(address indexed src, address indexed dst, uint256 wad);
    event Deposit(address indexed dst, uint256 wad);
    event Withdrawal(address indexed src, uint256 wad);

    error InsufficientBalance(address holder, uint256 balance, uint256 needed);
    error InsufficientAllowance(address spender, uint256 allowance, uint256 needed);
    error EtherTransferFailed(address recipient);

    receive() external payable {
        deposit();
    }

    /// @notice Wraps the ether that is sent.
    function deposit() public payable {
        balanceOf[msg.sender] += msg.value;
        emit Deposit(msg.sender, msg.value);
    }

    /// @notice Unwraps `wad` wei.
    function withdraw(uint256 wad) external {
        _debit(msg.sender, wad);
        (bool sent, ) = msg.sender.call{value: wad}("");
        if (!sent) revert EtherTransferFailed(msg.sender);
        emit Withdrawal(msg.sender, wad);
    }

    /// @notice Allows `guy` to move `wad` wei of the caller.
    function approve(address guy, uint256 wad) external returns (bool) {
        allowance[msg.sender][guy] = wad;
        emit Approval(msg.sender, guy, wad);
        return true;
    }

    /// @notice Moves `wad` wei to `dst`.
    function transfer(address dst, uint256 wad) external returns (bool) {
        return transferFrom(msg.sender, dst, wad);
    }

    /// @notice Moves `wad` wei from `src` to `dst`.
    function transferFrom(address src, address dst, uint256 wad) public returns (bool) {
        uint256 allowed = allowance[src][msg.sender];
        if (src != msg.sender && allowed != type(uint256).max) {
            if (allowed < wad) revert InsufficientAllowance(msg.sender, allowed, wad);
            allowance[src][msg.sender] = allowed - wad;
        }
        _debit(src, wad);
        balanceOf[dst] += wad;
        emit Transfer(src, dst, wad);
        return true;
    }

    /// @notice All wrapped ether.
    function totalSupply() external view returns (uint256) {
        return address(this).balance;
    }

    function _debit(address holder, uint256 wad) private {
        uint256 balance = balanceOf[holder];
        if (balance < wad) revert InsufficientBalance(holder, balance, wad);
        balanceOf[holder] = balance - wad;
    }
}
