// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Reputation registry of ERC-8004
/// @notice Feedback about the agents of an identity registry. Without the standard's responses and lists of all feedback.
interface IReputationRegistry {
    /// @notice Emitted when a client has given feedback. Endpoint, file and hash are only in this event.
    event NewFeedback(
        uint256 indexed agentId,
        address indexed clientAddress,
        uint64 feedbackIndex,
        int128 value,
        uint8 valueDecimals,
        string indexed indexedTag1,
        string tag1,
        string tag2,
        string endpoint,
        string feedbackURI,
        bytes32 feedbackHash
    );
    /// @notice Emitted when a client has taken feedback back.
    event FeedbackRevoked(uint256 indexed agentId, address indexed clientAddress, uint64 indexed feedbackIndex);

    /// @notice Thrown when the identity registry would be the zero address.
    error InvalidIdentityRegistry(address identityRegistry);
    /// @notice Thrown when an agent's owner or operator gives it feedback.
    error SelfFeedback(address clientAddress, uint256 agentId);
    /// @notice Thrown when a value has more decimals than it may have.
    error TooManyDecimals(uint8 valueDecimals, uint8 maximum);
    /// @notice Thrown when a value is further from zero than it may be.
    error ValueTooLarge(int128 value, int128 maximum);
    /// @notice Thrown when a client hasn't given an agent this feedback. The first one has index 1.
    error FeedbackNotFound(uint256 agentId, address clientAddress, uint64 feedbackIndex, uint64 lastIndex);
    /// @notice Thrown when feedback is taken back a second time.
    error FeedbackAlreadyRevoked(uint256 agentId, address clientAddress, uint64 feedbackIndex);
    /// @notice Thrown when a summary names no client, because strangers may give any feedback.
    error NoClientAddresses();

    /// @notice Gives an agent feedback: `value / 10^valueDecimals`. For everyone but its owner and operators.
    /// @param value at most 1e38 from zero
    /// @param valueDecimals 0 to 18
    /// @param tag1 what it is about; may be empty
    /// @param tag2 a second word; may be empty
    /// @param endpoint what was used; may be empty
    /// @param feedbackURI a file that says more; may be empty
    /// @param feedbackHash keccak256 of that file; may be zero
    function giveFeedback(
        uint256 agentId,
        int128 value,
        uint8 valueDecimals,
        string calldata tag1,
        string calldata tag2,
        string calldata endpoint,
        string calldata feedbackURI,
        bytes32 feedbackHash
    ) external;

    /// @notice Takes the caller's own feedback back.
    function revokeFeedback(uint256 agentId, uint64 feedbackIndex) external;

    /// @notice The registry that knows the agents.
    function getIdentityRegistry() external view returns (address identityRegistry);

    /// @notice Count and mean of what these clients said about an agent and didn't take back.
    /// @param clientAddresses at least one
    /// @param tag1 only feedback with this tag; empty for all
    /// @param tag2 only feedback with this tag; empty for all
    /// @return count 0 if there is none
    /// @return summaryValue the mean, rounded towards zero
    /// @return summaryValueDecimals the most frequent number of decimals, of several the smallest
    function getSummary(
        uint256 agentId,
        address[] calldata clientAddresses,
        string calldata tag1,
        string calldata tag2
    ) external view returns (uint64 count, int128 summaryValue, uint8 summaryValueDecimals);

    /// @notice One client's feedback with this index, which begins at 1.
    function readFeedback(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex
    ) external view returns (int128 value, uint8 valueDecimals, string memory tag1, string memory tag2, bool isRevoked);

    /// @notice Everyone who has given an agent feedback.
    function getClients(uint256 agentId) external view returns (address[] memory);

    /// @notice How much feedback a client has given an agent.
    function getLastIndex(uint256 agentId, address clientAddress) external view returns (uint64);
}
