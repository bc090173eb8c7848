import type { ApiMutant } from "./api-mutant.ts";

const LISTINGS = "features/listings/service.ts";
const LIST = "features/listings/list.ts";
const PAYMENT_METHOD = "features/kya/payment-method.ts";
const ACCESS = "features/developer/access.ts";
const MAILS = "features/developer/mails.ts";
const TIERS = "features/fees/tiers.ts";
const SCORE = "features/agents/score.ts";
const REGISTRY = "features/agents/registry.ts";
const DEVELOPER_TESTS = ["developer/developer-access.test.ts"];

/** Faults in listings, agents, verification, developer access, fees and what providers push. */
export const MARKET_FAULTS: ApiMutant[] = [
  {
    fault: "anybody may change a listing",
    file: LISTINGS,
    from: 'if (record.sellerAgentId !== seller.agentId) throw new ApiError("wrong_role", { details: { needed: "seller" } });\n',
    to: "void seller;\n",
    tests: ["listings/listings.test.ts"],
  },
  {
    fault: "an archived listing can be changed",
    file: LISTINGS,
    from: 'if (record.status === "archived") throw new ApiError("service_archived");',
    to: "",
    tests: ["listings/listings.test.ts"],
  },
  {
    fault: "a concurrent change of a listing is lost",
    file: LISTINGS,
    from: "{ _id: record._id, revision: record.revision },",
    to: "{ _id: record._id },",
    tests: ["listings/listing-races.test.ts", "listings/listings.test.ts"],
  },
  {
    fault: "everybody sees a listing's endpoint",
    file: "features/listings/presenter.ts",
    from: "...(listing.sellerAgentId === viewerAgentId ? ownFacts : {}),",
    to: "...(listing.sellerAgentId === viewerAgentId || endpointUrl !== null ? ownFacts : {}),",
    tests: ["listings/listings.test.ts"],
  },
  {
    fault: "a page of listings repeats the last of the page before",
    file: LIST,
    from: "const beyondId = isAscending ? { $gt: id } : { $lt: id };",
    to: "const beyondId = isAscending ? { $gte: id } : { $lte: id };",
    tests: ["listings/listings-list.test.ts", "listings/listing-queries.test.ts"],
  },
  {
    fault: "a page by price skips listings at the same price",
    file: LIST,
    from: "{ price: { $eq: value }, _id: beyondId, order: { _id: isAscending ? 1 : -1 } },",
    to: "",
    tests: ["listings/listings-list.test.ts", "listings/listing-queries.test.ts"],
  },
  {
    fault: "paused listings of others are listed",
    file: LIST,
    from: "if (isHidden && sellerId !== undefined && !isOwn) return undefined;\n  const seller = isHidden ? caller.agentId : sellerId;",
    to: "const seller = sellerId;",
    tests: ["listings/listings-list.test.ts", "listings/listing-queries.test.ts"],
  },
  {
    fault: "a seller just below the wanted score is listed",
    file: LIST,
    from: "return score >= minScore;",
    to: "return score >= minScore - 1;",
    tests: ["listings/trust-filter.test.ts"],
  },
  {
    fault: "search finds a listing that was archived a moment ago",
    file: LIST,
    from: '{ _id: { $in: pageIds }, status: "active", ...SHOWN }',
    to: "{ _id: { $in: pageIds } }",
    tests: ["listings/listing-races.test.ts", "discovery/discovery.test.ts"],
  },
  {
    fault: "a page of a search repeats the last of the page before",
    file: LIST,
    from: 'next: end < found.length ? { sort: "relevance", offset: end } : null,',
    to: 'next: end < found.length ? { sort: "relevance", offset: end - 1 } : null,',
    tests: ["discovery/discovery.test.ts", "listings/listing-queries.test.ts"],
  },
  {
    fault: "two wallets climb by trading with each other",
    file: SCORE,
    from: "return breadth * (1 - leftOut / settledCount);",
    to: "return Math.max(breadth, 1 - topCounterpartyShareOf(history));",
    tests: ["agents/ranking-trust.test.ts", "discovery/discovery.test.ts"],
  },
  {
    fault: "a negative score gives a negative discoveryScore",
    file: SCORE,
    from: "return Math.max(0, Math.min(1, onChainScore / FULL_DISCOVERY_SCORE));",
    to: "return Math.min(1, onChainScore / FULL_DISCOVERY_SCORE);",
    tests: ["agents/scores.test.ts"],
  },
  {
    fault: "an agent graduates at 11",
    file: SCORE,
    from: "return testnetScore >= MAINNET_GRADUATION_SCORE;",
    to: "return testnetScore > MAINNET_GRADUATION_SCORE;",
    tests: ["agents/scores.test.ts", "agents/score-gates.test.ts"],
  },
  {
    fault: "a page of the registry repeats the last of the page before",
    file: REGISTRY,
    from: "cursor === undefined ? {} : { _id: { $lt: cursor.id } };",
    to: "cursor === undefined ? {} : { _id: { $lte: cursor.id } };",
    tests: ["agents/registry.test.ts"],
  },
  {
    fault: "a score of an earlier block replaces a later one",
    file: "features/agents/standings.ts",
    from: 'return { $cond: [isNewer, "$$ROOT", { $literal: copy }] };',
    to: "return { $cond: [false, isNewer, { $literal: copy }] };",
    tests: ["agents/standings-sync.test.ts", "agents/score-sync.test.ts", "agents/scores.test.ts"],
  },
  {
    fault: "a statement of another wallet links a payment method",
    file: PAYMENT_METHOD,
    from: 'if ((await recoverSigner(chain, caller, statement)) !== walletAddress) throw new ApiError("signature_invalid");',
    to: 'if ((await recoverSigner(chain, caller, statement)) === undefined) throw new ApiError("signature_invalid");',
    tests: ["kya/payment-method.test.ts"],
  },
  {
    fault: "a statement works twice",
    file: PAYMENT_METHOD,
    from: "await nonces.create([used], { session });",
    to: "void [used, nonces];",
    tests: ["kya/payment-method.test.ts"],
  },
  {
    fault: "a statement that has expired links a payment method",
    file: PAYMENT_METHOD,
    from: "if (deadline > now && deadline",
    to: "if (deadline",
    tests: ["kya/payment-method.test.ts"],
  },
  {
    fault: "an empty wallet has a payment method",
    file: PAYMENT_METHOD,
    from: "if (balance < listed.minAmount && allowance < listed.minAmount) {",
    to: "if (balance < 0n && allowance < listed.minAmount) {",
    tests: ["kya/payment-method.test.ts"],
  },
  {
    fault: "a level falls by a verification",
    file: "features/kya/levels.ts",
    from: "change(agentId, raisedTo(level), why, within),",
    to: "change(agentId, setTo(level), why, within),",
    tests: ["kya/payment-method.test.ts", "developer/developer-access.test.ts", "kya/admin.test.ts"],
  },
  {
    fault: "a level that an admin has lowered rises by itself",
    file: "features/kya/levels.ts",
    from: "then: level },",
    to: 'then: "$$REMOVE" },',
    tests: ["kya/admin.test.ts"],
  },
  {
    fault: "a mailed token works after its end",
    file: ACCESS,
    from: "{ $elemMatch: { hash, expiresAt: { $gt: clock.now() } } }",
    to: "{ $elemMatch: { hash } }",
    tests: DEVELOPER_TESTS,
  },
  {
    fault: "a mailed token works twice",
    file: ACCESS,
    from: "{ $pull: { tokens: { hash } } }",
    to: "{ $set: { name: null } }",
    tests: DEVELOPER_TESTS,
  },
  {
    fault: "an address gets a mail for every request",
    file: ACCESS,
    from: '{ $cond: [isRecent, "$$ROOT", renewed] }',
    to: "{ $cond: [false, isRecent, renewed] }",
    tests: DEVELOPER_TESTS,
  },
  {
    fault: "a mail that can't be sent is tried for ever",
    file: MAILS,
    from: "if (request.attempts >= MAIL_ATTEMPTS) await",
    to: "if (request.attempts > MAIL_ATTEMPTS + 1_000) await",
    tests: DEVELOPER_TESTS,
  },
  {
    fault: "a token itself is stored",
    file: MAILS,
    from: "{ hash: sha256Hex(token), expiresAt:",
    to: "{ hash: sha256Hex(token), token, expiresAt:",
    tests: DEVELOPER_TESTS,
  },
  {
    fault: "the fee window has 31 days",
    file: TIERS,
    from: "const firstDay = today - (FEE_WINDOW_DAYS - 1);",
    to: "const firstDay = today - FEE_WINDOW_DAYS;",
    tests: ["fees/fee-tier.test.ts"],
  },
  {
    fault: "a tier begins one unit late",
    file: TIERS,
    from: "volumeUsd >= BigInt(fromUsd) * ONE_USD",
    to: "volumeUsd > BigInt(fromUsd) * ONE_USD",
    tests: ["fees/fee-tier.test.ts"],
  },
  {
    fault: "the rebate counts the fees of the whole window",
    file: TIERS,
    from: "days.filter(({ day }) => day >= window.monthFirstDay)",
    to: "days.filter(({ day }) => day >= window.firstDay)",
    tests: ["fees/fee-tier.test.ts"],
  },
  {
    fault: "a push with a wrong signature wakes the follower",
    file: "features/chain-follower/push-route.ts",
    from: "if (!verifyWebhookSignature(secret, signature, text, toUnixSeconds(clock.now()))) {",
    to: 'if (!verifyWebhookSignature(secret, signature, text, toUnixSeconds(clock.now())) && signature === "") {',
    tests: ["chain-follower/chain-push.test.ts"],
  },
  {
    fault: "a push for one chain wakes both followers",
    file: "features/chain-follower/push-route.ts",
    from: "return named.length > 0 ? named : [...NETWORKS];",
    to: "return named.length > 1 ? named : [...NETWORKS];",
    tests: ["chain-follower/chain-push.test.ts"],
  },
];
