import type { ApiMutant } from "./api-mutant.ts";

const DELIVERIES = "features/keeper/deliveries.ts";
const SPENDING = "features/keeper/spending.ts";
const WORK = "features/keeper/work.ts";
const KEEPER_TESTS = ["keeper/keeper.test.ts"];
const SPENDING_TESTS = ["keeper/spending.test.ts"];

/** Faults in the keeper: what it ends, whom it tells, and what it spends. */
export const KEEPER_FAULTS: ApiMutant[] = [
  {
    fault: "an escrow without a payload in time is finalized",
    file: DELIVERIES,
    from: 'handoverOf(deal, at) === "in_time")',
    to: 'handoverOf(deal, at) !== "open")',
    tests: KEEPER_TESTS,
  },
  {
    fault: "a payload of the last second is late",
    file: DELIVERIES,
    from: 'toUnixSeconds(payloadReceivedAt) <= end ? "in_time"',
    to: 'toUnixSeconds(payloadReceivedAt) < end ? "in_time"',
    tests: KEEPER_TESTS,
  },
  {
    fault: "an escrow that somebody else ended waits as a problem",
    file: WORK,
    from: 'problem("not_in_state") : { kind: "done" };',
    to: 'problem("not_in_state") : problem("unexpected");',
    tests: KEEPER_TESTS,
  },
  {
    fault: "a score counts as written while its settlement is missing",
    file: WORK,
    from: "return !OPEN.includes(state);",
    to: "return OPEN.includes(state) || !OPEN.includes(state);",
    tests: KEEPER_TESTS,
  },
  {
    fault: "the daily cap isn't looked at",
    file: SPENDING,
    from: "committedWei: { $lte: decimal(capWei - wei) } },",
    to: "committedWei: { $gte: decimal(0n) } },",
    tests: SPENDING_TESTS,
  },
  {
    fault: "a replacement is charged on top of what it replaces",
    file: SPENDING,
    from: "if (charge !== undefined) await change(charge.day, -BigInt(charge.wei), session);",
    to: "if (charge === undefined) await change(day, 0n, session);",
    tests: SPENDING_TESTS,
  },
];
