import type { ApiMutant } from "./api-mutant.ts";

const TESTS = ["transactions/before-funding.test.ts"];

/** Faults in what the parties of a checkout are told before its funding. */
export const BEFORE_FUNDING_FAULTS: ApiMutant[] = [
  {
    fault: "the seller of an unpaid checkout is told that it doesn't exist",
    file: "features/transactions/reader.ts",
    from: 'if (status !== "pending_funding") throw new ApiError("not_found");',
    to: 'if (status !== "funded") throw new ApiError("not_found");',
    tests: TESTS,
  },
  {
    fault: "confirm hands out an accept that reverts",
    file: "features/transactions/service.ts",
    from: "const accept = isOpen ? moveCall",
    to: "const accept = isOpen || record !== null ? moveCall",
    tests: [...TESTS, "transactions/transaction-states.test.ts"],
  },
  {
    fault: "a taken escrow id leaves the buyer without a next step",
    file: "features/transactions/actions.ts",
    from: 'return role === "buyer" ? checkoutAgain(record) : [];',
    to: 'return role === "buyer" && record.expiredBy === "quote" ? checkoutAgain(record) : [];',
    tests: TESTS,
  },
  {
    fault: "an ended quote leaves the buyer without a next step",
    file: "features/transactions/actions.ts",
    from: "now > record.quoteExpiresAt) return checkoutAgain(record);",
    to: "now > record.quoteExpiresAt) return [];",
    tests: TESTS,
  },
  {
    fault: "the order that is offered again has another deadline",
    file: "features/transactions/actions.ts",
    from: "record.deadline - quoteExpiresAt + QUOTE_SECONDS",
    to: "record.deadline - quoteExpiresAt",
    tests: TESTS,
  },
  {
    fault: "a plain transfer to the escrow contract looks like another escrow's funding",
    file: "chain/receipts.ts",
    from: 'if (transfers.length > 0) return { kind: "transfer", transfers };',
    to: "",
    tests: TESTS,
  },
  {
    fault: "a transfer to anybody counts as one to the escrow contract",
    file: "chain/receipts.ts",
    from: "args.to.toLowerCase() === escrowContract.toLowerCase() && args.value > 0n",
    to: "escrowContract.length > 0 && args.value > 0n",
    tests: TESTS,
  },
];
