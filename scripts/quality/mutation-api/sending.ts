import type { ApiMutant } from "./api-mutant.ts";

const SENDER = "chain/sending/sender.ts";
const FEES = "chain/sending/fees.ts";
const REBATE = "features/fees/rebate.ts";
const PAYMENTS = "features/fees/payments.ts";
const READER = "features/fees/statement-reader.ts";
const TRANSACTIONS = "disputes/sending/transactions.test.ts";
const OBSTACLES = "disputes/sending/obstacles.test.ts";
const FEE_TESTS = ["chain/sending-fees.test.ts"];
const IN_FLIGHT = "disputes/sending/in-flight.test.ts";
const MONTH_TESTS = ["fees/months.test.ts"];
const PAYMENT_TESTS = ["fees/rebate-payments.test.ts"];

/** Faults in the service's own transactions: rulings, and the payments of rebates. */
export const SENDING_FAULTS: ApiMutant[] = [
  {
    fault: "a transaction is final a block early",
    file: SENDER,
    from: "const isDeep = head.number - blockNumber >= timings.confirmations;",
    to: "const isDeep = head.number - blockNumber >= timings.confirmations - 1;",
    tests: [IN_FLIGHT],
  },
  {
    fault: "a transaction that the node refuses is sent at every look",
    file: "chain/sending/broadcasts.ts",
    from: "if (unseen !== undefined && unseen.nextAt > now()) return unseen;",
    to: "",
    tests: ["chain/sending-answers.test.ts"],
  },
  {
    fault: "a sender that was paused overwrites what another has written",
    file: "chain/sending/store.ts",
    from: ".findOneAndUpdate({ _id, version }, change,",
    to: ".findOneAndUpdate({ _id }, change,",
    tests: ["chain/sending-store.test.ts"],
  },
  {
    fault: "another nonce is used before the last one's block is deep enough",
    file: SENDER,
    from: "(await chain.transactionCount(from, deepBlock)) > nonce",
    to: "(await chain.transactionCount(from)) > nonce",
    tests: [TRANSACTIONS],
  },
  {
    fault: "the fees of a transaction that a reorganisation removed rise at once",
    file: SENDER,
    from: 'const isResumed = record.state !== "sending" &&',
    to: 'const isResumed = record.state === "held" &&',
    tests: [TRANSACTIONS],
  },
  {
    fault: "a key has one transaction more in flight than it may",
    file: SENDER,
    from: ">= timings.maxInFlight)",
    to: "> timings.maxInFlight)",
    tests: [TRANSACTIONS],
  },
  {
    fault: "a replacement offers a tenth more, which some nodes refuse",
    file: FEES,
    from: "(fee * 9n + 7n) / 8n",
    to: "(fee * 11n + 9n) / 10n",
    tests: FEE_TESTS,
  },
  {
    fault: "a replacement may exceed the cap",
    file: FEES,
    from: "offer.maxFeePerGas > highestFee(market, multiple) ?",
    to: "offer.maxPriorityFeePerGas > highestFee(market, multiple) ?",
    tests: FEE_TESTS,
  },
  {
    fault: "a ruling that another one forestalled waits as a problem",
    file: "features/disputes/sending/problems.ts",
    from: 'if (state === RESOLVED_STATE) return { kind: "done" };',
    to: "",
    tests: [OBSTACLES],
  },
  {
    fault: "a ruling is replaced while a transaction of it may be mined",
    file: "features/disputes/sending/queue.ts",
    from: "inFlight: false,\n      };",
    to: "};",
    tests: [IN_FLIGHT],
  },
  {
    fault: "a rebate is rounded up",
    file: REBATE,
    from: "return (fees * BigInt(PLATFORM_FEE_BPS - rateBps)) / BigInt(PLATFORM_FEE_BPS);",
    to: "return (fees * BigInt(PLATFORM_FEE_BPS - rateBps) + BigInt(PLATFORM_FEE_BPS - 1)) / BigInt(PLATFORM_FEE_BPS);",
    tests: MONTH_TESTS,
  },
  {
    fault: "a month has the fees of the next month's first second",
    file: REBATE,
    from: "settlement.settledAt >= month.start && settlement.settledAt < month.end;",
    to: "settlement.settledAt >= month.start && settlement.settledAt <= month.end;",
    tests: MONTH_TESTS,
  },
  {
    fault: "a rebate that was paid by a forgotten transfer is paid again",
    file: "features/fees/payment-work.ts",
    from: 'if (paid !== undefined && Number(paid.blockNumber) <= (blockNumber ?? Infinity)) return { kind: "done" };',
    to: "void paid;",
    tests: PAYMENT_TESTS,
  },
  {
    fault: "statements without a rebate are paid",
    file: PAYMENTS,
    from: "month, isPayable: true, _id:",
    to: "month, _id:",
    tests: PAYMENT_TESTS,
  },
  {
    fault: "a page of statements repeats the last of the page before",
    file: READER,
    from: "_id: { $lt: cursor.id }",
    to: "_id: { $lte: cursor.id }",
    tests: PAYMENT_TESTS,
  },
  {
    fault: "every agent reads the settlements of a statement",
    file: READER,
    from: "statements.exists({ _id: statementId, wallet: lowerCase(wallet) })",
    to: "statements.exists({ _id: statementId })",
    tests: PAYMENT_TESTS,
  },
];
