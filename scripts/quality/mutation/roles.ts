import type { Mutant } from "./mutant.ts";

const ADMINISTRATION = "escrow/EscrowAdministration.sol";

/** Faults in roles, tokens and upgrades of the escrow contract. */
export const ROLES_FAULTS: Mutant[] = [
  {
    fault: "a delisted token reads as listed",
    file: ADMINISTRATION,
    from: "listed: stored.minAmount != 0,",
    to: "listed: true,",
  },
  {
    fault: "the pauser may be taken over by anyone",
    file: ADMINISTRATION,
    from: "if (msg.sender != pending) revert CallerNotPendingPauser(msg.sender, pending);",
    to: "",
  },
  {
    fault: "anyone may stop new escrows",
    file: ADMINISTRATION,
    from: "if (msg.sender != current) revert CallerNotPauser(msg.sender, current);",
    to: "",
  },
  {
    fault: "anyone may upgrade the escrow contract",
    file: ADMINISTRATION,
    from: "function _authorizeUpgrade(address) internal override onlyOwner {}",
    to: "function _authorizeUpgrade(address) internal override {}",
  },
  {
    fault: "a feed without code is listed",
    file: ADMINISTRATION,
    from: "if (config.feed != address(0) && config.feed.code.length == 0) revert FeedWithoutCode(config.feed);",
    to: "",
  },
  {
    fault: "a token is listed with other decimals than its own",
    file: ADMINISTRATION,
    from: "if (config.decimals != actual) revert TokenDecimalsMismatch(token, config.decimals, actual);",
    to: "",
  },
  {
    fault: "a relisted token gets another index",
    file: ADMINISTRATION,
    from: "        if (index == 0) {\n            index = ++$.tokenCount;",
    to: "        if (stored.minAmount == 0) {\n            index = ++$.tokenCount;",
  },
  {
    fault: "a delisting forgets the token's index",
    file: ADMINISTRATION,
    from: "        stored.minAmount = 0;\n        if (token == MAIN_TOKEN)",
    to: "        delete _data().tokens[token];\n        if (token == MAIN_TOKEN)",
  },
  {
    fault: "a delisted main token is taken without a look at the list",
    file: ADMINISTRATION,
    from: "        if (token == MAIN_TOKEN) _data().mainTokenMinAmount = 0;\n",
    to: "",
  },
  {
    fault: "a main token with a feed counts as one dollar",
    file: ADMINISTRATION,
    from: "TokenValue.isDollar(stored) ? uint56(config.minAmount) : 0;",
    to: "uint56(config.minAmount);",
  },
  {
    fault: "every listing sets the main token's minimum",
    file: ADMINISTRATION,
    from: "        if (token == MAIN_TOKEN) $.mainTokenMinAmount = ",
    to: "        $.mainTokenMinAmount = ",
  },
  {
    fault: "another token takes the main token's place",
    file: ADMINISTRATION,
    from: "            if (index == MAIN_TOKEN_INDEX && token != MAIN_TOKEN) revert MainTokenNotFirst(token, MAIN_TOKEN);\n",
    to: "",
  },
  {
    fault: "the fee may leave nothing of the least deposit",
    file: ADMINISTRATION,
    from: "if (config.minAmount < ProtocolConstants.LEAST_DEPOSIT ||",
    to: "if (config.minAmount < 1 ||",
  },
  {
    fault: "the escrow contract may be its own treasury",
    file: ADMINISTRATION,
    from: "if (newTreasury == address(0) || newTreasury == address(this)) revert",
    to: "if (newTreasury == address(0)) revert",
  },
  {
    fault: "a proposed pauser can accept twice",
    file: ADMINISTRATION,
    from: "        $.pendingPauser = address(0);\n",
    to: "",
  },
  {
    fault: "a second pause passes",
    file: ADMINISTRATION,
    from: "        if ($.paused) revert NewEscrowsAlreadyPaused();\n",
    to: "",
  },
  {
    fault: "scores are lost without a sign",
    file: ADMINISTRATION,
    from: "        if (SCORE.code.length == 0) revert PeerWithoutCode(SCORE);\n",
    to: "",
  },
  {
    fault: "anyone may list a token",
    file: ADMINISTRATION,
    from: "function listToken(address token, TokenConfig calldata config) external onlyOwner {",
    to: "function listToken(address token, TokenConfig calldata config) external {",
  },
  {
    fault: "anyone may take the fees",
    file: ADMINISTRATION,
    from: "function setTreasury(address newTreasury) external onlyOwner {",
    to: "function setTreasury(address newTreasury) external {",
  },
];
