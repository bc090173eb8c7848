// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC721URIStorage} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721URIStorage.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {IIdentityRegistry} from "./IIdentityRegistry.sol";

/// @title Identity registry of ERC-8004 on local chains
/// @notice Has the names, ids and EIP-712 domain of the one on live networks. It can't be upgraded.
contract IdentityRegistry is IIdentityRegistry, ERC721URIStorage, EIP712 {
    string private constant WALLET_KEY = "agentWallet";
    uint256 private constant MAX_DEADLINE_SECONDS = 5 minutes;
    bytes32 private constant WALLET_TYPEHASH = keccak256(
        "AgentWalletSet(uint256 agentId,address newWallet,address owner,uint256 deadline)"
    );

    uint256 private _nextId;
    mapping(uint256 agentId => mapping(string metadataKey => bytes metadataValue)) private _metadata;

    modifier onlyAuthorized(uint256 agentId) {
        if (!isAuthorizedOrOwner(msg.sender, agentId)) revert NotAuthorized(msg.sender, agentId);
        _;
    }

    constructor() ERC721("AgentIdentity", "AGENT") EIP712("ERC8004IdentityRegistry", "1") {}

    // ------------------------------------------------------------------------------------------
    // Registration
    // ------------------------------------------------------------------------------------------

    /// @inheritdoc IIdentityRegistry
    function register() external returns (uint256 agentId) {
        agentId = _create("");
        _safeMint(msg.sender, agentId);
    }

    /// @inheritdoc IIdentityRegistry
    function register(string calldata agentURI) external returns (uint256 agentId) {
        agentId = _create(agentURI);
        _safeMint(msg.sender, agentId);
    }

    /// @inheritdoc IIdentityRegistry
    function register(string calldata agentURI, MetadataEntry[] calldata metadata) external returns (uint256 agentId) {
        agentId = _create(agentURI);
        for (uint256 index = 0; index < metadata.length; ++index) {
            _requireFreeKey(metadata[index].metadataKey);
            _setMetadata(agentId, metadata[index].metadataKey, metadata[index].metadataValue);
        }
        _safeMint(msg.sender, agentId);
    }

    // ------------------------------------------------------------------------------------------
    // Changes
    // ------------------------------------------------------------------------------------------

    /// @inheritdoc IIdentityRegistry
    function setAgentURI(uint256 agentId, string calldata newURI) external onlyAuthorized(agentId) {
        _setTokenURI(agentId, newURI);
        emit URIUpdated(agentId, newURI, msg.sender);
    }

    /// @inheritdoc IIdentityRegistry
    function setMetadata(
        uint256 agentId,
        string calldata metadataKey,
        bytes calldata metadataValue
    ) external onlyAuthorized(agentId) {
        _requireFreeKey(metadataKey);
        _setMetadata(agentId, metadataKey, metadataValue);
    }

    /// @inheritdoc IIdentityRegistry
    function setAgentWallet(
        uint256 agentId,
        address newWallet,
        uint256 deadline,
        bytes calldata signature
    ) external onlyAuthorized(agentId) {
        if (newWallet == address(0)) revert InvalidWallet(newWallet);
        if (block.timestamp > deadline) revert SignatureExpired(block.timestamp, deadline);
        uint256 latest = block.timestamp + MAX_DEADLINE_SECONDS;
        if (deadline > latest) revert DeadlineTooFar(deadline, latest);
        bytes32 statement = keccak256(abi.encode(WALLET_TYPEHASH, agentId, newWallet, ownerOf(agentId), deadline));
        if (!_isSignedBy(newWallet, _hashTypedDataV4(statement), signature)) revert InvalidWalletSignature(newWallet);
        _setMetadata(agentId, WALLET_KEY, abi.encodePacked(newWallet));
    }

    /// @inheritdoc IIdentityRegistry
    function unsetAgentWallet(uint256 agentId) external onlyAuthorized(agentId) {
        _setMetadata(agentId, WALLET_KEY, "");
    }

    // ------------------------------------------------------------------------------------------
    // Views
    // ------------------------------------------------------------------------------------------

    /// @inheritdoc IIdentityRegistry
    function getMetadata(uint256 agentId, string calldata metadataKey) external view returns (bytes memory) {
        return _metadata[agentId][metadataKey];
    }

    /// @inheritdoc IIdentityRegistry
    function getAgentWallet(uint256 agentId) external view returns (address) {
        bytes memory wallet = _metadata[agentId][WALLET_KEY];
        return address(bytes20(wallet));
    }

    /// @inheritdoc IIdentityRegistry
    function isAuthorizedOrOwner(address spender, uint256 agentId) public view returns (bool) {
        return _isAuthorized(ownerOf(agentId), spender, agentId);
    }

    // ------------------------------------------------------------------------------------------
    // Parts
    // ------------------------------------------------------------------------------------------

    /// @dev A new owner has to prove its wallet, so a transfer takes the old one away.
    function _update(address to, uint256 tokenId, address auth) internal override returns (address) {
        if (_ownerOf(tokenId) != address(0)) _setMetadata(tokenId, WALLET_KEY, "");
        return super._update(to, tokenId, auth);
    }

    /// @dev Without its token. Minting comes last: it calls an owner that is a contract, which may pass the agent on at once.
    function _create(string memory agentURI) private returns (uint256 agentId) {
        agentId = _nextId++;
        _setMetadata(agentId, WALLET_KEY, abi.encodePacked(msg.sender));
        if (bytes(agentURI).length > 0) _setTokenURI(agentId, agentURI);
        emit Registered(agentId, agentURI, msg.sender);
    }

    function _setMetadata(uint256 agentId, string memory metadataKey, bytes memory metadataValue) private {
        _metadata[agentId][metadataKey] = metadataValue;
        emit MetadataSet(agentId, metadataKey, metadataKey, metadataValue);
    }

    function _requireFreeKey(string memory metadataKey) private pure {
        if (keccak256(bytes(metadataKey)) == keccak256(bytes(WALLET_KEY))) revert ReservedMetadataKey(metadataKey);
    }

    /// @dev By key first: an account that has delegated its code (EIP-7702) signs like any other.
    function _isSignedBy(address wallet, bytes32 digest, bytes calldata signature) private view returns (bool) {
        (address signer, ECDSA.RecoverError failure, ) = ECDSA.tryRecoverCalldata(digest, signature);
        if (failure == ECDSA.RecoverError.NoError && signer == wallet) return true;
        return SignatureChecker.isValidERC1271SignatureNowCalldata(wallet, digest, signature);
    }
}
