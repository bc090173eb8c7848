// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";

/// @title USDC as Circle deploys it on Base (FiatTokenV2_2)
/// @notice The functions that local chains and tests use. A test compares them with the ABI of Circle's build.
interface IUsdc is IERC20Metadata {
    /// @notice Emitted when a holder's authorization has moved tokens.
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    /// @notice Emitted when a holder has cancelled an authorization.
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);
    /// @notice Emitted when tokens are created.
    event Mint(address indexed minter, address indexed to, uint256 amount);
    /// @notice Emitted when an account is put on the deny list.
    event Blacklisted(address indexed _account);
    /// @notice Emitted when an account is taken off the deny list.
    event UnBlacklisted(address indexed _account);

    /// @notice Sets the token's facts and the holders of its roles, once.
    function initialize(
        string calldata tokenName,
        string calldata tokenSymbol,
        string calldata tokenCurrency,
        uint8 tokenDecimals,
        address newMasterMinter,
        address newPauser,
        address newBlacklister,
        address newOwner
    ) external;

    /// @notice The second version's step, once.
    function initializeV2(string calldata newName) external;

    /// @notice The step of version 2.1, once.
    function initializeV2_1(address lostAndFound) external;

    /// @notice The step of version 2.2, once.
    function initializeV2_2(address[] calldata accountsToBlacklist, string calldata newSymbol) external;

    /// @notice Allows `minter` to create `minterAllowedAmount` token units. For the master minter.
    function configureMinter(address minter, uint256 minterAllowedAmount) external returns (bool);

    /// @notice Creates `_amount` token units for `_to`. For minters, within their allowance.
    function mint(address _to, uint256 _amount) external returns (bool);

    /// @notice Puts an account on the deny list. For the blacklister.
    function blacklist(address _account) external;

    /// @notice Takes an account off the deny list. For the blacklister.
    function unBlacklist(address _account) external;

    /// @notice Stops every transfer, approval and authorization. For the pauser.
    function pause() external;

    /// @notice Ends the pause. For the pauser.
    function unpause() external;

    /// @notice EIP-2612, with the signature as bytes (ERC-1271 too).
    function permit(address owner, address spender, uint256 value, uint256 deadline, bytes memory signature) external;

    /// @notice EIP-2612.
    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external;

    /// @notice EIP-3009, with the signature as bytes (ERC-1271 too).
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external;

    /// @notice EIP-3009.
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external;

    /// @notice EIP-3009 for the payee, with the signature as bytes (ERC-1271 too).
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external;

    /// @notice EIP-3009 for the payee.
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external;

    /// @notice EIP-3009, with the signature as bytes (ERC-1271 too).
    function cancelAuthorization(address authorizer, bytes32 nonce, bytes memory signature) external;

    /// @notice EIP-3009.
    function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external;

    /// @notice Whether an authorization was used or cancelled.
    function authorizationState(address authorizer, bytes32 nonce) external view returns (bool);

    /// @notice Next nonce of a permit.
    function nonces(address owner) external view returns (uint256);

    /// @notice Whether an account is on the deny list.
    function isBlacklisted(address _account) external view returns (bool);

    /// @notice Who names the minters.
    function masterMinter() external view returns (address);

    /// @notice Who keeps the deny list.
    function blacklister() external view returns (address);

    /// @notice Who may pause.
    function pauser() external view returns (address);

    /// @notice Separator of the EIP-712 domain.
    function DOMAIN_SEPARATOR() external view returns (bytes32);

    /// @notice Version of the EIP-712 domain.
    function version() external pure returns (string memory);
}
