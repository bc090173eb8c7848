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
        address escrow;
        // slot 1
        mapping(address agent => int256) scores;
    }

    // keccak256(abi.encode(uint256(keccak256("marketplace.storage.Score")) - 1)) & ~bytes32(uint256(0xff))
    bytes32 private constant SCORE_STORAGE_LOCATION =
        0xeed4a9d0513dc1127c294e385ec4e19feb02ba809283c30a3b15ae6b5c144b00;

    /// @inheritdoc IScore
    // The specification names the constant so.
    // solhint-disable-next-line const-name-snakecase
    int256 public constant MAINNET_GRADUATION_SCORE = ProtocolConstants.MAINNET_GRADUATION_SCORE;

    /// @custom:oz-upgrades-unsafe-allow constructor
    constructor() {
        _disableInitializers();
    }

    /// @notice Sets the contract up; once per proxy.
    /// @param owner who may upgrade and set the escrow contract
    /// @param escrow the escrow contract, the only writer; it need not exist yet
    function initialize(address owner, address escrow) external initializer {
        __Ownable_init(owner);
        _setEscrowContract(escrow);
    }

    /// @inheritdoc IScore
    function recordOutcome(bytes32 escrowId, address buyer, address seller, ScoreOutcome outcome) external {
        ScoreData storage $ = _data();

        // Check:
        address escrow = $.escrow;
        if (msg.sender != escrow) revert CallerNotEscrow(msg.sender, escrow);

        // Effect:
        (int256 buyerDelta, int256 sellerDelta) = _deltasOf(outcome);
        _change($, escrowId, buyer, outcome, buyerDelta);
        _change($, escrowId, seller, outcome, sellerDelta);
    }

    /// @inheritdoc IScore
    function setEscrowContract(address newEscrow) external onlyOwner {
        _setEscrowContract(newEscrow);
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
        return _data().escrow;
    }

    /// @inheritdoc UUPSUpgradeable
    // The modifier is the whole rule.
    // solhint-disable-next-line no-empty-blocks
    function _authorizeUpgrade(address) internal override onlyOwner {}

    function _change(ScoreData storage $, bytes32 escrowId, address agent, ScoreOutcome outcome, int256 delta) private {
        int256 score = $.scores[agent];
        if (delta != 0) {
            unchecked {
                score += delta; // by 5 at most: 2^252 settlements away from a bound
            }
            $.scores[agent] = score;
        }
        emit ScoreChanged(agent, escrowId, outcome, delta, score);
    }

    function _setEscrowContract(address newEscrow) private {
        ScoreData storage $ = _data();
        if (newEscrow == address(0)) revert InvalidAddress(newEscrow);
        emit EscrowContractSet($.escrow, newEscrow);
        $.escrow = newEscrow;
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
