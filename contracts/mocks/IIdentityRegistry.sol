// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Identity registry of ERC-8004
/// @notice The functions that the standard adds to ERC-721. An agent's id is its token's id.
interface IIdentityRegistry {
    /// @notice A fact about an agent, as bytes under a key.
    struct MetadataEntry {
        string metadataKey;
        bytes metadataValue;
    }

    /// @notice Emitted when an agent has been registered.
    event Registered(uint256 indexed agentId, string agentURI, address indexed owner);
    /// @notice Emitted when a fact about an agent has changed. Its wallet is the fact `agentWallet`.
    event MetadataSet(
        uint256 indexed agentId,
        string indexed indexedMetadataKey,
        string metadataKey,
        bytes metadataValue
    );
    /// @notice Emitted when the address of an agent's registration file has changed.
    event URIUpdated(uint256 indexed agentId, string newURI, address indexed updatedBy);

    /// @notice Thrown when the caller is neither the agent's owner nor its operator.
    error NotAuthorized(address caller, uint256 agentId);
    /// @notice Thrown when the agent's wallet is set as if it were any other fact.
    error ReservedMetadataKey(string metadataKey);
    /// @notice Thrown when an agent's wallet would be the zero address.
    error InvalidWallet(address wallet);
    /// @notice Thrown when a wallet is set after its signature's deadline (unix seconds).
    error SignatureExpired(uint256 timestamp, uint256 deadline);
    /// @notice Thrown when a signature's deadline is later than it may be (unix seconds).
    error DeadlineTooFar(uint256 deadline, uint256 latest);
    /// @notice Thrown when the signature isn't the new wallet's.
    error InvalidWalletSignature(address wallet);

    /// @notice Registers an agent of the caller, who becomes its owner and its wallet.
    function register() external returns (uint256 agentId);

    /// @notice The same with the address of the agent's registration file.
    function register(string calldata agentURI) external returns (uint256 agentId);

    /// @notice The same with facts about the agent.
    function register(string calldata agentURI, MetadataEntry[] calldata metadata) external returns (uint256 agentId);

    /// @notice Changes the address of an agent's registration file. For its owner and operators.
    function setAgentURI(uint256 agentId, string calldata newURI) external;

    /// @notice Changes a fact about an agent. For its owner and operators.
    function setMetadata(uint256 agentId, string calldata metadataKey, bytes calldata metadataValue) external;

    /// @notice A fact about an agent; empty unless it was set.
    function getMetadata(uint256 agentId, string calldata metadataKey) external view returns (bytes memory);

    /// @notice Changes the wallet that an agent is paid to. For its owner and operators.
    /// @param deadline until when the signature counts, in unix seconds; at most five minutes ahead
    /// @param signature the new wallet's signature (EIP-712, or ERC-1271) of
    /// `AgentWalletSet(uint256 agentId,address newWallet,address owner,uint256 deadline)`
    function setAgentWallet(uint256 agentId, address newWallet, uint256 deadline, bytes calldata signature) external;

    /// @notice Takes an agent's wallet away. For its owner and operators.
    function unsetAgentWallet(uint256 agentId) external;

    /// @notice The wallet that an agent is paid to. The zero address after a transfer, and for an unknown agent.
    function getAgentWallet(uint256 agentId) external view returns (address);

    /// @notice Whether an account is an agent's owner or operator. Reverts for an unknown agent.
    function isAuthorizedOrOwner(address spender, uint256 agentId) external view returns (bool);
}
