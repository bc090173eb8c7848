import type { ApiMutant } from "./api-mutant.ts";

const FIGURES = "features/analytics/market-figures.ts";
const ROLLUP = "features/analytics/market-rollup.ts";
const VALUES = "features/analytics/rounded-values.ts";
const TESTS = ["analytics/market.test.ts"];

/** Faults in the market's figures: what counts, and who computes. */
export const ANALYTICS_FAULTS: ApiMutant[] = [
  {
    fault: "a deal of two wallets with each other counts",
    file: "features/analytics/wash-trading.ts",
    from: "countedDealsOf(pair, party) === pair",
    to: "countedDealsOf(pair, party) > 0",
    tests: TESTS,
  },
  {
    fault: "wash trading is compared with one of the two alone",
    file: "features/analytics/wash-trading.ts",
    from: "parties.every((party)",
    to: "parties.some((party)",
    tests: TESTS,
  },
  {
    fault: "two workers add the same escrows to the tally",
    file: "features/analytics/kept-tally.ts",
    from: "const filter = { _id: network, through: from };",
    to: "const filter = { _id: network };",
    tests: TESTS,
  },
  {
    fault: "a window takes what ended at its start",
    file: FIGURES,
    from: "deal.settledAt > this.#end - SPANS[name]",
    to: "deal.settledAt >= this.#end - SPANS[name]",
    tests: TESTS,
  },
  {
    fault: "the median of four deals is told",
    file: FIGURES,
    from: "values.size < LEAST_DEALS ?",
    to: "values.size < LEAST_DEALS - 1 ?",
    tests: TESTS,
  },
  {
    fault: "a worker that was paused overwrites newer figures",
    file: ROLLUP,
    from: "const filter = { _id, computedAt: { $lt: record.computedAt } };",
    to: "const filter = { _id };",
    tests: TESTS,
  },
  {
    fault: "a worker goes on without its lease",
    file: ROLLUP,
    from: "if (!(await this.#deps.lease.acquire())) throw new LeaseLostError();",
    to: "await this.#deps.lease.acquire();",
    tests: TESTS,
  },
  {
    fault: "figures are computed whether they are due or not",
    file: ROLLUP,
    from: 'if (!(await this.#isDue(computedAt))) return "not_due";',
    to: "await this.#isDue(computedAt);",
    tests: TESTS,
  },
  {
    fault: "a value is cut instead of rounded",
    file: VALUES,
    from: ">= LEAST_ROUNDED_UP ? 1 : 0",
    to: "> BASE ? LEAST_ROUNDED_UP : 0",
    tests: ["analytics/rounded-values.test.ts"],
  },
];
