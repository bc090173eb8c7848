import type { ApiMutant } from "./api-mutant.ts";

const CHECKOUT = "features/checkout/service.ts";
const PURCHASES = "features/checkout/purchases.ts";
const GATES = "features/checkout/gates.ts";
const FUNDING = "features/transactions/funding.ts";
const DELIVERY = "features/transactions/delivery.ts";
const READER = "features/transactions/reader.ts";
const SERVICE = "features/transactions/service.ts";
const DEADLINES = "features/transactions/deadlines.ts";
const CHECKOUT_TESTS = ["checkout/checkout-refusals.test.ts", "checkout/checkout.test.ts"];
const TRANSACTION_TESTS = ["transactions/transactions.test.ts", "transactions/transaction-states.test.ts"];

/** Faults in checkout and in what parties do with a deal. */
export const DEAL_FAULTS: ApiMutant[] = [
  {
    fault: "a paused service can be bought",
    file: CHECKOUT,
    from: 'if (listing.status !== "active") throw new ApiError("service_not_active", { details: { status: listing.status } });',
    to: "",
    tests: CHECKOUT_TESTS,
  },
  {
    fault: "an agent buys its own service",
    file: CHECKOUT,
    from: 'if (listing.sellerAgentId === buyer.agentId) throw new ApiError("self_purchase");',
    to: "void buyer;",
    tests: CHECKOUT_TESTS,
  },
  {
    fault: "a checkout ignores the wanted network",
    file: CHECKOUT,
    from: "if (order.network !== undefined && order.network !== listing.network) {",
    to: "if (order.network !== undefined && order.network.length === 0) {",
    tests: CHECKOUT_TESTS,
  },
  {
    fault: "a repeated checkout creates a second deal",
    file: CHECKOUT,
    from: 'bought === undefined ? operation.newId("txn", createdAt) : newId("txn", createdAt);',
    to: '`${operation.newId("txn", createdAt)}${operation.isRepeat ? "again" : ""}`;',
    tests: ["idempotency/idempotency-failpoints.test.ts"],
  },
  {
    fault: "two purchases of the same at once don't see each other",
    file: PURCHASES,
    from: "await takeTurn(orders, orderHash, record._id, session);",
    to: "",
    tests: ["checkout/intent-races.test.ts"],
  },
  {
    fault: "a fresh quote replaces one that can still be funded",
    file: PURCHASES,
    from: "const lastFunding = record.deadline - CHAIN_MIN_DELIVERY_SECONDS;",
    to: "const lastFunding = 0;",
    tests: ["checkout/intents.test.ts"],
  },
  {
    fault: "mainnet opens for a score of 9",
    file: GATES,
    from: "if (score >= BigInt(MAINNET_GRADUATION_SCORE)) return;",
    to: "if (score >= BigInt(MAINNET_GRADUATION_SCORE) - 1n) return;",
    tests: ["agents/score-gates.test.ts", "checkout/mainnet-checkout.test.ts"],
  },
  {
    fault: "a job above the cap is accepted",
    file: GATES,
    from: "if (capUsd !== null && valueUsd > capUsd) {",
    to: "if (capUsd !== null && valueUsd > capUsd * 2n) {",
    tests: CHECKOUT_TESTS,
  },
  {
    fault: "a wallet needs more than the deposit",
    file: GATES,
    from: "if (balance >= quote.amount) return;",
    to: "if (balance > quote.amount) return;",
    tests: CHECKOUT_TESTS,
  },
  {
    fault: "a high-value job needs no verification",
    file: GATES,
    from: "if (mayBuy(kyaLevel)) return;",
    to: "if (mayBuy(kyaLevel) || kyaLevel === 0) return;",
    tests: ["kya/high-value-jobs.test.ts"],
  },
  {
    fault: "a checkout ignores the seller's own terms",
    file: GATES,
    from: "if (paused || valueUsd < minAmountUsd || deliverySeconds < minDeliveryDeadlineSeconds) {",
    to: "if (paused || valueUsd < minAmountUsd) {",
    tests: ["checkout/checkout.test.ts"],
  },
  {
    fault: "a fee is rounded down in a quote",
    file: "features/checkout/quote.ts",
    from: "return (numerator + denominator - 1n) / denominator;",
    to: "return numerator / denominator;",
    tests: ["checkout/quote.test.ts"],
  },
  {
    fault: "funding with other terms is accepted",
    file: FUNDING,
    from: 'if (check.kind !== "funded") return refuse(record, txHash, check);',
    to: 'if (check.kind !== "funded" && check.kind !== "otherTerms") return refuse(record, txHash, check);\n      if (check.kind !== "funded") return { kind: "pending", record, retryAfterSeconds: 2 };',
    tests: ["transactions/funding.test.ts"],
  },
  {
    fault: "a seller reports the funding",
    file: FUNDING,
    from: 'if (found.role === "seller") {',
    to: 'if (found.role === "seller" && txHash === "0x") {',
    tests: ["transactions/funding.test.ts"],
  },
  {
    fault: "a read forgets the block of the funding",
    file: FUNDING,
    from: "await transactions.updateOne(asFound, { $max: { minBlock: check.blockNumber } });",
    to: "",
    tests: ["transactions/funding.test.ts", "indexer/indexer-lag.test.ts"],
  },
  {
    fault: "a payload is written twice",
    file: DELIVERY,
    from: "escrowId: record.escrowId, responsePayloadJson: null },",
    to: "escrowId: record.escrowId },",
    tests: TRANSACTION_TESTS,
  },
  {
    fault: "the buyer delivers",
    file: DELIVERY,
    from: 'if (reading.role !== "seller") {',
    to: 'if (reading.role !== "seller" && agentId === "") {',
    tests: ["transactions/transactions.test.ts"],
  },
  {
    fault: "a late delivery is accepted",
    file: DELIVERY,
    from: 'if (record.status !== "funded" || chainNow <= record.deadline) return;',
    to: 'if (record.status !== "funded" || chainNow <= record.deadline + 86_400 * 60) return;',
    tests: ["transactions/transaction-states.test.ts"],
  },
  {
    fault: "a delivery without its event when the chain was faster",
    file: DELIVERY,
    from: "if (delivered?.transactionId !== record._id) return;",
    to: "if (delivered !== undefined || options.progress === undefined) return;",
    tests: ["events/deal-events.test.ts"],
  },
  {
    fault: "a stranger reads a deal",
    file: READER,
    from: 'if (record === null || role === undefined) throw new ApiError("not_found");\n    return { record, role };',
    to: 'if (record === null) throw new ApiError("not_found");\n    return { record, role: role ?? "buyer" };',
    tests: ["transactions/transactions.test.ts"],
  },
  {
    fault: "a seller sees an unpaid checkout",
    file: READER,
    from: 'if (reading.role !== "seller" || !UNFUNDED.includes(status)) return reading;',
    to: "return reading;",
    tests: TRANSACTION_TESTS,
  },
  {
    fault: "a read may be older than the caller's own transaction",
    file: READER,
    from: "const minBlock = Math.max(record.minBlock, record.escrow?.updatedBlock ?? 0, atLeast);",
    to: "const minBlock = Math.max(0, atLeast);",
    tests: [
      "indexer/indexer-lag.test.ts",
      "transactions/transaction-states.test.ts",
      "transactions/waiting-funds.test.ts",
    ],
  },
  {
    fault: "the seller confirms",
    file: SERVICE,
    from: 'if (reading.role !== "buyer") throw new ApiError("wrong_role", { details: { role: "seller", required: "buyer" } });\n    if (record.status === "released") return reading;',
    to: 'if (record.status === "released") return reading;',
    tests: ["transactions/transactions.test.ts"],
  },
  {
    fault: "a delivery can be finalized a second early",
    file: DEADLINES,
    from: "return end === null ? null : end + 1;",
    to: "return end;",
    tests: TRANSACTION_TESTS,
  },
  {
    fault: "a job can be reclaimed a second early",
    file: DEADLINES,
    from: "return graceEnd(record) + 1;",
    to: "return graceEnd(record);",
    tests: TRANSACTION_TESTS,
  },
  {
    fault: "a checkout expires while its quote holds",
    file: "features/transactions/expiry.ts",
    from: "$lt: headTimestamp - EXPIRY_MARGIN_SECONDS",
    to: "$lt: headTimestamp + EXPIRY_MARGIN_SECONDS",
    tests: ["chain-follower/follower-escrows.test.ts", "transactions/transaction-states.test.ts"],
  },
  {
    fault: "the buyer gets the seller's address before the funding",
    file: "features/transactions/job-access.ts",
    from: 'record.deliveryType === "api_response" && record.status === "funded";',
    to: 'record.deliveryType === "api_response";',
    tests: ["transactions/job-access.test.ts"],
  },
];
