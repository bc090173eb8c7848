import type { Mutant } from "./mutant.ts";

const SCORE = "ScoreV2.sol";
const RESOLVER = "ResolverV2.sol";

/** Faults in the score contract and in the resolver contract: tenures, rulings, agreements. */
export const RESOLVER_FAULTS: Mutant[] = [
  {
    fault: "anyone may write scores",
    file: SCORE,
    from: "if (msg.sender != ESCROW) revert CallerNotEscrow(msg.sender, ESCROW);",
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
    from: "if (tenure.from == 0 || tenure.revoked) revert CallerNotResolver(role, msg.sender);",
    to: "",
  },
  {
    fault: "the buyer alone makes an agreement",
    file: RESOLVER,
    from: "_requireSigned(escrow.seller, digest, signatures[1]);",
    to: "_requireSigned(escrow.buyer, digest, signatures[1]);",
  },
  {
    fault: "an agreement holds for any percentage",
    file: RESOLVER,
    from: "keccak256(abi.encode(AGREEMENT_TYPEHASH, escrowId, buyerPercent, deadline))",
    to: "keccak256(abi.encode(AGREEMENT_TYPEHASH, escrowId, uint256(0), deadline))",
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
  {
    fault: "a revoked resolver rules on",
    file: RESOLVER,
    from: "if (tenure.from == 0 || tenure.revoked) revert CallerNotResolver(role, msg.sender);",
    to: "if (tenure.from == 0) revert CallerNotResolver(role, msg.sender);",
  },
  {
    fault: "a new resolver rules what was created before",
    file: RESOLVER,
    from: "if (escrow.createdAt < tenure.from || escrow.createdAt > tenure.until) {",
    to: "if (escrow.createdAt > tenure.until) {",
  },
  {
    fault: "a former resolver rules what was created after",
    file: RESOLVER,
    from: "if (escrow.createdAt < tenure.from || escrow.createdAt > tenure.until) {",
    to: "if (escrow.createdAt < tenure.from) {",
  },
  {
    fault: "a new resolver rules the escrows of the second of its acceptance",
    file: RESOLVER,
    from: "_startTenure(role, pending, block.timestamp + 1);",
    to: "_startTenure(role, pending, block.timestamp);",
  },
  {
    fault: "a former resolver's tenure never ends",
    file: RESOLVER,
    from: "        if (previous != address(0)) $.tenures[role][previous].until = uint64(from - 1);\n",
    to: "",
  },
  {
    fault: "a tenure ends a second late",
    file: RESOLVER,
    from: ".until = uint64(from - 1);",
    to: ".until = uint64(from);",
  },
  {
    fault: "a former resolver can be appointed again",
    file: RESOLVER,
    from: "        if ($.tenures[role][newResolver].from != 0) revert ResolverServedBefore(role, newResolver);\n",
    to: "",
  },
  {
    fault: "the holder of one role rules in the other",
    file: RESOLVER,
    from: "$.tenures[role][msg.sender];",
    to: "$.tenures[ResolvedBy.System][msg.sender];",
  },
  {
    fault: "a revoked resolver keeps the role",
    file: RESOLVER,
    from: "            $.resolvers[role] = address(0);\n",
    to: "",
  },
  {
    fault: "revoking a former resolver empties the role",
    file: RESOLVER,
    from: "if ($.resolvers[role] == resolver) {",
    to: "if (true) {",
  },
  {
    fault: "anyone may revoke a resolver",
    file: RESOLVER,
    from: "function revokeResolver(ResolvedBy role, address resolver) external onlyOwner {",
    to: "function revokeResolver(ResolvedBy role, address resolver) external {",
  },
  {
    fault: "anyone may accept a role",
    file: RESOLVER,
    from: "        if (msg.sender != pending) revert CallerNotPendingResolver(role, msg.sender, pending);\n",
    to: "",
  },
  {
    fault: "suspended rulings go on",
    file: RESOLVER,
    from: "        if ($.rulingsPaused) revert RulingsArePaused();\n",
    to: "",
  },
  {
    fault: "anyone may suspend rulings",
    file: RESOLVER,
    from: "        if (msg.sender != pauser) revert CallerNotPauser(msg.sender, pauser);\n",
    to: "",
  },
  {
    fault: "a buyer rules its own escrow",
    file: RESOLVER,
    from: "if (msg.sender == escrow.buyer || msg.sender == escrow.seller) revert",
    to: "if (msg.sender == escrow.seller) revert",
  },
  {
    fault: "a seller rules its own escrow",
    file: RESOLVER,
    from: "if (msg.sender == escrow.buyer || msg.sender == escrow.seller) revert",
    to: "if (msg.sender == escrow.buyer) revert",
  },
  {
    fault: "an agreement never expires",
    file: RESOLVER,
    from: "        if (block.timestamp > deadline) revert AgreementExpired(block.timestamp, deadline);\n",
    to: "",
  },
  {
    fault: "an agreement expires a second early",
    file: RESOLVER,
    from: "if (block.timestamp > deadline) revert AgreementExpired",
    to: "if (block.timestamp >= deadline) revert AgreementExpired",
  },
  {
    fault: "the deadline of an agreement is not signed",
    file: RESOLVER,
    from: "escrowId, buyerPercent, deadline))",
    to: "escrowId, buyerPercent, uint256(0)))",
  },
  {
    fault: "the key of a wallet with delegated code does not sign",
    file: RESOLVER,
    from: "        if (problem == ECDSA.RecoverError.NoError && signer == party) return;\n",
    to: "",
  },
  {
    fault: "a contract wallet cannot sign",
    file: RESOLVER,
    from: "        if (SignatureChecker.isValidERC1271SignatureNowCalldata(party, digest, signature)) return;\n",
    to: "",
  },
  {
    fault: "any signature of a key is good",
    file: RESOLVER,
    from: "problem == ECDSA.RecoverError.NoError && signer == party",
    to: "problem == ECDSA.RecoverError.NoError",
  },
  {
    fault: "an agreement is told as a ruling",
    file: RESOLVER,
    from: "            ResolutionMethod.Agreement,\n",
    to: "            ResolutionMethod.Ruling,\n",
  },
  {
    fault: "a ruling by the admin is told as the system's",
    file: RESOLVER,
    from: "_rule(ResolvedBy.Admin, escrowId, outcome, buyerPercent, sellerPercent, rationaleHash);\n    }\n\n    /// @inheritdoc IResolver\n    function resolveByAgreement",
    to: "_rule(ResolvedBy.System, escrowId, outcome, buyerPercent, sellerPercent, rationaleHash);\n    }\n\n    /// @inheritdoc IResolver\n    function resolveByAgreement",
  },
  {
    fault: "the event of both scores swaps them",
    file: SCORE,
    from: "emit ScoresChanged(escrowId, buyer, seller, outcome, buyerScore, sellerScore);",
    to: "emit ScoresChanged(escrowId, buyer, seller, outcome, sellerScore, buyerScore);",
  },
  {
    fault: "the buyer's change is the seller's",
    file: SCORE,
    from: "int256 sellerScore = _change(seller, sellerDelta);",
    to: "int256 sellerScore = _change(seller, buyerDelta);",
  },
  {
    fault: "an abandonment costs the seller 3",
    file: SCORE,
    from: "return (0, -5);",
    to: "return (0, -3);",
  },
];
