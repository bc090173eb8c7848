import type { ApiMutant } from "./api-mutant.ts";

const PASS = "features/reconciliation/pass.ts";
const SOURCES = "features/reconciliation/sources.ts";
const COMPARE = "features/reconciliation/compare.ts";
const DIFFERENCES = "features/reconciliation/differences.ts";
const PASS_TEST = "reconciliation/pass.test.ts";
const DIFFERENCES_TEST = "reconciliation/differences.test.ts";
const DEALS = "reconciliation/reconciliation.test.ts";

/** Faults in the daily comparison of copies with the contracts. */
export const RECONCILIATION_FAULTS: ApiMutant[] = [
  {
    fault: "copies are compared earlier than a day later",
    file: PASS,
    from: "pass.finished.startedAt.getTime() >= timings.reconcileEveryMs;",
    to: "pass.finished.startedAt.getTime() >= timings.reconcileEveryMs - 1;",
    tests: [PASS_TEST],
  },
  {
    fault: "copies are compared at a block whose state no server needs to have",
    file: PASS,
    from: "if (head - number <= OLDEST_STATE_BLOCKS)",
    to: "if (head - number <= OLDEST_STATE_BLOCKS + 1)",
    tests: [PASS_TEST],
  },
  {
    fault: "two processes compare every page",
    file: "db/stored-state.ts",
    from: "await this.#states.replaceOne({ _id: this.#name, version }, next, { upsert: true });",
    to: "await this.#states.replaceOne({ _id: this.#name }, next, { upsert: true });",
    tests: [PASS_TEST],
  },
  {
    fault: "scores are skipped after two pages of escrows",
    file: PASS,
    from: 'return { running: { ...running, ...counts, stage, after: "" } };',
    to: "return { running: { ...running, ...counts, stage } };",
    tests: [DIFFERENCES_TEST],
  },
  {
    fault: "the scores of another network are compared",
    file: PASS,
    from: "{ _id: { $gt: `${network}:${after}`, $lt: `${network};` } }",
    to: "{ _id: { $gt: `${network}:${after}` } }",
    tests: [DIFFERENCES_TEST],
  },
  {
    fault: "closed escrows beyond the last random place are never looked at",
    file: PASS,
    from: 'if (found.length < PAGE_SIZE) found.push(...(await this.#closedFrom("0x", PAGE_SIZE - found.length)));',
    to: "",
    tests: [PASS_TEST],
  },
  {
    fault: "a copy that is newer than the block is compared",
    file: SOURCES,
    from: "const isSkipped = isNewer || waiting.has(record.escrowId);",
    to: "const isSkipped = waiting.has(record.escrowId);",
    tests: [DIFFERENCES_TEST],
  },
  {
    fault: "a copy that waits to be read again is compared",
    file: SOURCES,
    from: "const isSkipped = isNewer || waiting.has(record.escrowId);",
    to: "const isSkipped = isNewer;",
    tests: [PASS_TEST],
  },
  {
    fault: "a recent score is compared with an older one",
    file: SOURCES,
    from: "indexedBlock > block.head - OLDEST_STATE_BLOCKS ? indexedBlock : block.number;",
    to: "indexedBlock > block.head ? indexedBlock : block.number;",
    tests: [DIFFERENCES_TEST],
  },
  {
    fault: "a score is asked for at a block that isn't there yet",
    file: SOURCES,
    from: "records.filter((record) => blockOf(record) <= block.head);",
    to: "records.filter((record) => blockOf(record) >= 0);",
    tests: [DIFFERENCES_TEST],
  },
  {
    fault: "a taken escrow id counts as a difference for ever",
    file: COMPARE,
    from: "return isTaken ? [] : [",
    to: "return isTaken && terms.length === 0 ? [] : [",
    tests: [DIFFERENCES_TEST],
  },
  {
    fault: "an escrow that the chain doesn't have isn't missed",
    file: COMPARE,
    from: '{ field: "state", copy: record.escrow?.state ?? NONE, contract: NONE },',
    to: "",
    tests: [DIFFERENCES_TEST],
  },
  {
    fault: "a late copy has no time to catch up",
    file: DIFFERENCES,
    from: "{ network, isOpen: true, checkAt: { $lte: now() } }",
    to: "{ network, isOpen: true }",
    tests: [DIFFERENCES_TEST],
  },
  {
    fault: "a copy counts as repaired before it has been read again",
    file: DIFFERENCES,
    from: "if (comparison?.isSkipped === true) {",
    to: "if (comparison === null) {",
    tests: [DIFFERENCES_TEST],
  },
  {
    fault: "a difference that was repaired is the same one when it comes back",
    file: DIFFERENCES,
    from: '{ $set: { state: "repaired", isOpen: false, repairedAt: now() } }',
    to: '{ $set: { state: "repaired", repairedAt: now() } }',
    tests: [DIFFERENCES_TEST],
  },
  {
    fault: "a difference is logged but the copy isn't read again",
    file: DIFFERENCES,
    from: "await this.#repair(difference, fields);",
    to: "void fields;",
    tests: [DIFFERENCES_TEST],
  },
  {
    fault: "a copy that was only late counts as repaired",
    file: DIFFERENCES,
    from: '} else if (state === "suspected") {',
    to: "} else if (looks < 0) {",
    tests: [DEALS],
  },
];
