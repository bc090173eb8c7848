// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {IIdentityRegistry} from "./IIdentityRegistry.sol";
import {IReputationRegistry} from "./IReputationRegistry.sol";

/// @title Reputation registry of ERC-8004 on local chains
/// @notice Averages as the one on live networks does. It can't be upgraded.
contract ReputationRegistry is IReputationRegistry {
    struct Feedback {
        int128 value;
        uint8 valueDecimals;
        bool isRevoked;
        string tag1;
        string tag2;
    }

    int128 private constant MAX_VALUE = 1e38;
    uint8 private constant MAX_DECIMALS = 18;

    IIdentityRegistry private immutable IDENTITY_REGISTRY;

    mapping(uint256 agentId => mapping(address client => Feedback[])) private _feedback;
    mapping(uint256 agentId => address[]) private _clients;

    constructor(IIdentityRegistry identityRegistry_) {
        if (address(identityRegistry_) == address(0)) revert InvalidIdentityRegistry(address(identityRegistry_));
        IDENTITY_REGISTRY = identityRegistry_;
    }

    /// @inheritdoc IReputationRegistry
    function giveFeedback(
        uint256 agentId,
        int128 value,
        uint8 valueDecimals,
        string calldata tag1,
        string calldata tag2,
        string calldata endpoint,
        string calldata feedbackURI,
        bytes32 feedbackHash
    ) external {
        if (valueDecimals > MAX_DECIMALS) revert TooManyDecimals(valueDecimals, MAX_DECIMALS);
        if (value > MAX_VALUE || value < -MAX_VALUE) revert ValueTooLarge(value, MAX_VALUE);
        if (IDENTITY_REGISTRY.isAuthorizedOrOwner(msg.sender, agentId)) revert SelfFeedback(msg.sender, agentId);

        Feedback[] storage given = _feedback[agentId][msg.sender];
        if (given.length == 0) _clients[agentId].push(msg.sender);
        given.push(Feedback(value, valueDecimals, false, tag1, tag2));
        emit NewFeedback(
            agentId,
            msg.sender,
            uint64(given.length),
            value,
            valueDecimals,
            tag1,
            tag1,
            tag2,
            endpoint,
            feedbackURI,
            feedbackHash
        );
    }

    /// @inheritdoc IReputationRegistry
    function revokeFeedback(uint256 agentId, uint64 feedbackIndex) external {
        Feedback storage feedback = _feedbackAt(agentId, msg.sender, feedbackIndex);
        if (feedback.isRevoked) revert FeedbackAlreadyRevoked(agentId, msg.sender, feedbackIndex);
        feedback.isRevoked = true;
        emit FeedbackRevoked(agentId, msg.sender, feedbackIndex);
    }

    /// @inheritdoc IReputationRegistry
    function getIdentityRegistry() external view returns (address identityRegistry) {
        return address(IDENTITY_REGISTRY);
    }

    /// @inheritdoc IReputationRegistry
    function getSummary(
        uint256 agentId,
        address[] calldata clientAddresses,
        string calldata tag1,
        string calldata tag2
    ) external view returns (uint64 count, int128 summaryValue, uint8 summaryValueDecimals) {
        if (clientAddresses.length == 0) revert NoClientAddresses();
        // With 18 decimals.
        int256 sum = 0;
        uint64[] memory countsByDecimals = new uint64[](MAX_DECIMALS + 1);
        for (uint256 client = 0; client < clientAddresses.length; ++client) {
            sum += _sumOf(_feedback[agentId][clientAddresses[client]], tag1, tag2, countsByDecimals);
        }
        for (uint8 decimals = 0; decimals <= MAX_DECIMALS; ++decimals) count += countsByDecimals[decimals];
        if (count == 0) return (0, 0, 0);
        for (uint8 decimals = 1; decimals <= MAX_DECIMALS; ++decimals) {
            if (countsByDecimals[decimals] > countsByDecimals[summaryValueDecimals]) summaryValueDecimals = decimals;
        }
        int256 mean = sum / int256(uint256(count));
        summaryValue = SafeCast.toInt128(mean / _unit(MAX_DECIMALS - summaryValueDecimals));
    }

    /// @inheritdoc IReputationRegistry
    function readFeedback(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex
    )
        external
        view
        returns (int128 value, uint8 valueDecimals, string memory tag1, string memory tag2, bool isRevoked)
    {
        Feedback storage feedback = _feedbackAt(agentId, clientAddress, feedbackIndex);
        return (feedback.value, feedback.valueDecimals, feedback.tag1, feedback.tag2, feedback.isRevoked);
    }

    /// @inheritdoc IReputationRegistry
    function getClients(uint256 agentId) external view returns (address[] memory) {
        return _clients[agentId];
    }

    /// @inheritdoc IReputationRegistry
    function getLastIndex(uint256 agentId, address clientAddress) external view returns (uint64) {
        return uint64(_feedback[agentId][clientAddress].length);
    }

    function _feedbackAt(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex
    ) private view returns (Feedback storage) {
        Feedback[] storage given = _feedback[agentId][clientAddress];
        if (feedbackIndex == 0 || feedbackIndex > given.length) {
            revert FeedbackNotFound(agentId, clientAddress, feedbackIndex, uint64(given.length));
        }
        return given[feedbackIndex - 1];
    }

    /// @dev The sum of one client's feedback under the tags, with 18 decimals. Counts it by its own decimals.
    function _sumOf(
        Feedback[] storage given,
        string calldata tag1,
        string calldata tag2,
        uint64[] memory countsByDecimals
    ) private view returns (int256 sum) {
        for (uint256 index = 0; index < given.length; ++index) {
            Feedback storage feedback = given[index];
            if (feedback.isRevoked || !_matches(tag1, feedback.tag1) || !_matches(tag2, feedback.tag2)) continue;
            sum += int256(feedback.value) * _unit(MAX_DECIMALS - feedback.valueDecimals);
            ++countsByDecimals[feedback.valueDecimals];
        }
    }

    /// @dev Whether feedback with this tag is wanted; an empty filter wants all.
    function _matches(string calldata wanted, string memory tag) private pure returns (bool) {
        return bytes(wanted).length == 0 || keccak256(bytes(wanted)) == keccak256(bytes(tag));
    }

    function _unit(uint8 decimals) private pure returns (int256) {
        return int256(10 ** uint256(decimals));
    }
}
