import type { Mutant } from "./mutant.ts";

const ADMINISTRATION = "escrow/EscrowAdministration.sol";
const SCORE = "ScoreV2.sol";
const RESOLVER = "ResolverV2.sol";

/** Faults in roles, tokens and upgrades, in the score contract and in the resolver contract. */
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
    from: "if (config.feed != address(0) && config.feed.code.length == 0) revert InvalidAddress(config.feed);",
    to: "",
  },
  {
    fault: "a token is listed with other decimals than its own",
    file: ADMINISTRATION,
    from: "if (config.decimals != actual) revert TokenDecimalsMismatch(token, config.decimals, actual);",
    to: "",
  },
  {
    fault: "anyone may write scores",
    file: SCORE,
    from: "if (msg.sender != escrow) revert CallerNotEscrow(msg.sender, escrow);",
    to: "",
  },
  {
    fault: "a lost dispute costs the seller 2",
    file: SCORE,
    from: "if (outcome == ScoreOutcome.BuyerRefund) return (1, -3);",
    to: "if (outcome == ScoreOutcome.BuyerRefund) return (1, -2);",
  },
  {
    fault: "a dispute that the seller wins costs the seller",
    file: SCORE,
    from: "if (outcome == ScoreOutcome.SellerPaid) return (-3, 1);",
    to: "if (outcome == ScoreOutcome.SellerPaid) return (1, -3);",
  },
  {
    fault: "the higher cap wins",
    file: SCORE,
    from: "return sellerCap < buyerCap ?",
    to: "return sellerCap > buyerCap ?",
  },
  {
    fault: "anyone may rule",
    file: RESOLVER,
    from: "if (msg.sender != resolver) revert CallerNotResolver(role, msg.sender, resolver);",
    to: "",
  },
  {
    fault: "the buyer alone makes an agreement",
    file: RESOLVER,
    from: "if (!SignatureChecker.isValidSignatureNow(escrow.seller, digest, signatures[1])) {",
    to: "if (!SignatureChecker.isValidSignatureNow(escrow.buyer, digest, signatures[1])) {",
  },
  {
    fault: "an agreement holds for any percentage",
    file: RESOLVER,
    from: "keccak256(abi.encode(AGREEMENT_TYPEHASH, escrowId, buyerPercent))",
    to: "keccak256(abi.encode(AGREEMENT_TYPEHASH, escrowId, uint256(0)))",
  },
  {
    fault: "a ruling needs no rationale",
    file: RESOLVER,
    from: "if (rationaleHash == bytes32(0)) revert MissingRationale(escrowId);",
    to: "",
  },
  {
    fault: "a split by the system is 60 to 40",
    file: RESOLVER,
    from: "        return 50;\n",
    to: "        return 60;\n",
  },
];
