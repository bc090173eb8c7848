// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {EscrowV2} from "../EscrowV2.sol";
import {ResolverV2} from "../ResolverV2.sol";
import {ScoreV2} from "../ScoreV2.sol";

/// @title Later implementations for the upgrade tests
/// @notice They add a namespace of their own and change nothing of the storage that stands.
contract NextEscrow is EscrowV2 {
    /// @custom:storage-location erc7201:marketplace.storage.EscrowExtension
    struct ExtensionData {
        uint256 note;
    }

    constructor(address score, address resolver, address main) EscrowV2(score, resolver, main) {}

    /// @notice Names the generation.
    function generation() external pure returns (uint256) {
        return 3;
    }
}

/// @title A later score contract
contract NextScore is ScoreV2 {
    constructor(address escrow) ScoreV2(escrow) {}

    /// @notice Names the generation.
    function generation() external pure returns (uint256) {
        return 3;
    }
}

/// @title A later resolver contract
contract NextResolver is ResolverV2 {
    constructor(address escrow) ResolverV2(escrow) {}

    /// @notice Names the generation.
    function generation() external pure returns (uint256) {
        return 3;
    }
}
