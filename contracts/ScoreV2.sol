// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable2StepUpgradeable} from "@openzeppelin/contracts-upgradeable/access/Ownable2StepUpgradeable.sol";
import {UUPSUpgradeable} from "@openzeppelin/contracts/proxy/utils/UUPSUpgradeable.sol";

import {IScore} from "./interfaces/IScore.sol";
import {JobValueCaps} from "./libraries/JobValueCaps.sol";
import {ProtocolConstants} from "./libraries/ProtocolConstants.sol";
import {ScoreOutcome} from "./types/EscrowTypes.sol";

/// @title Score contract, second generation
/// @notice Flat scoring: an outcome changes a score by the same number whatever the value of the job.
contract ScoreV2 is IScore, Ownable2StepUpgradeable, UUPSUpgradeable {
    /// @custom:storage-location erc7201:marketplace.storage.Score
    struct ScoreData {
        // slot 0
        mapping(address agent => int256) scores;
    }

    // keccak256(abi.encode(uint256(keccak256("marketplace.storage.Score")) - 1)) & ~bytes32(uint256(0xff))
    bytes32 private constant SCORE_STORAGE_LOCATION =
        0xeed4a9d0513dc1127c294e385ec4e19feb02ba809283c30a3b15ae6b5c144b00;

    /// @inheritdoc IScore
    // The specification names the constant so.
    // solhint-disable-next-line const-name-snakecase
    int256 public constant MAINNET_GRADUATION_SCORE = ProtocolConstants.MAINNET_GRADUATION_SCORE;

    /// @dev The only writer.
    /// @custom:oz-upgrades-unsafe-allow state-variable-immutable
    address private immutable ESCROW;

    /// @param escrow proxy of the escrow contract, the only writer; it need not exist yet
    /// @custom:oz-upgrades-unsafe-allow constructor
    constructor(address escrow) {
        if (escrow == address(0)) revert InvalidEscrow(escrow);
        ESCROW = escrow;
        _disableInitializers();
    }

    /// @notice Sets the contract up; once per proxy.
    /// @param owner who may upgrade
    function initialize(address owner) external initializer {
        __Ownable_init(owner);
    }

    /// @inheritdoc IScore
    function recordOutcome(bytes32 escrowId, address buyer, address seller, ScoreOutcome outcome) external {
        // Check:
        if (msg.sender != ESCROW) revert CallerNotEscrow(msg.sender, ESCROW);

        // Effect:
        (int256 buyerDelta, int256 sellerDelta) = _deltasOf(outcome);
        int256 buyerScore = _change(buyer, buyerDelta);
        int256 sellerScore = _change(seller, sellerDelta);
        emit ScoresChanged(escrowId, buyer, seller, outcome, buyerScore, sellerScore);
    }

    /// @inheritdoc IScore
    function scoreOf(address agent) external view returns (int256) {
        return _data().scores[agent];
    }

    /// @inheritdoc IScore
    function maxJobValue(address agent) external view returns (uint256) {
        return JobValueCaps.capOf(_data().scores[agent]);
    }

    /// @inheritdoc IScore
    function jobValueCap(address buyer, address seller) external view returns (uint256 capUsd, address cappedAgent) {
        ScoreData storage $ = _data();
        uint256 buyerCap = JobValueCaps.capOf($.scores[buyer]);
        uint256 sellerCap = JobValueCaps.capOf($.scores[seller]);
        return sellerCap < buyerCap ? (sellerCap, seller) : (buyerCap, buyer);
    }

    /// @inheritdoc IScore
    function escrowContract() external view returns (address) {
        return ESCROW;
    }

    /// @inheritdoc UUPSUpgradeable
    // The modifier is the whole rule.
    // solhint-disable-next-line no-empty-blocks
    function _authorizeUpgrade(address) internal override onlyOwner {}

    /// @dev The agent's score after the change, which is by 5 at most: 2^252 settlements away from a bound.
    function _change(address agent, int256 delta) private returns (int256 score) {
        unchecked {
            score = (_data().scores[agent] += delta);
        }
    }

    /// @dev The table of specification section 3.2.
    function _deltasOf(ScoreOutcome outcome) private pure returns (int256 buyerDelta, int256 sellerDelta) {
        if (outcome == ScoreOutcome.Released) return (1, 1);
        if (outcome == ScoreOutcome.BuyerRefund) return (1, -3);
        if (outcome == ScoreOutcome.SellerPaid) return (-3, 1);
        if (outcome == ScoreOutcome.Split) return (0, 0);
        return (0, -5);
    }

    function _data() private pure returns (ScoreData storage $) {
        // The only way to name an ERC-7201 slot.
        // solhint-disable-next-line no-inline-assembly
        assembly ("memory-safe") {
            $.slot := SCORE_STORAGE_LOCATION
        }
    }
}
