import type { ApiMutant } from "./api-mutant.ts";

const DECLINES = "features/transactions/declines.ts";
const SCORE = "features/agents/score.ts";
const TESTS = ["transactions/declines.test.ts"];

/** Faults in how declines before the deadline count. */
export const DECLINE_FAULTS: ApiMutant[] = [
  {
    fault: "two buyers can lower a seller's rank",
    file: DECLINES,
    from: "buyers >= MIN_DECLINED_BUYERS",
    to: "buyers >= MIN_DECLINED_BUYERS - 1",
    tests: TESTS,
  },
  {
    fault: "an escrow that was funded late counts as an order",
    file: DECLINES,
    from: 'const FUNDED_IN_TIME = { $lte: ["$escrow.createdAt", "$quoteExpiresAt"] };',
    to: 'const FUNDED_IN_TIME = { $gte: ["$escrow.createdAt", 0] };',
    tests: TESTS,
  },
  {
    fault: "a decline in the deadline's last second is late",
    file: DECLINES,
    from: '{ $lte: ["$escrow.settledAt", "$deadline"] }',
    to: '{ $lt: ["$escrow.settledAt", "$deadline"] }',
    tests: TESTS,
  },
  {
    fault: "an escrow without a checkout counts as an order",
    file: DECLINES,
    from: 'unsolicited: false,\n    "escrow.settledAt": { $gt: 0 },',
    to: '"escrow.settledAt": { $gt: 0 },',
    tests: TESTS,
  },
  {
    fault: "the ranking ignores early declines",
    file: SCORE,
    from: "lateDeclineWeightOf(history) * earlyDeclineWeightOf(history)",
    to: "lateDeclineWeightOf(history)",
    tests: ["agents/ranking-trust.test.ts"],
  },
];
