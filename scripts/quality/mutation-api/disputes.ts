import type { ApiMutant } from "./api-mutant.ts";

const BOOK = "features/disputes/dispute-store.ts";
const RULER = "features/disputes/ruler.ts";
const RULINGS = "features/disputes/rulings.ts";
const SERVICE = "features/disputes/service.ts";
const VERIFICATION = "features/disputes/verification.ts";
const UNRELATED = "features/disputes/judging/unrelated.ts";
const UNRELATED_TESTS = ["disputes/judging/unrelated.test.ts"];
const JUDGE = "features/disputes/judging/judge.ts";
const CLOCK_TESTS = ["disputes/clock-ahead.test.ts"];
const RULER_TESTS = ["disputes/ruler.test.ts"];
const REORGANISATION_TESTS = ["disputes/ruler-reorganisation.test.ts"];
const CONTROLS = "features/disputes/judging/asking/controls.ts";
const DECIDING = "features/disputes/judging/asking/deciding.ts";
const POINTING = "features/disputes/judging/asking/pointing.ts";
const MODEL_TESTS = ["disputes/judging/model-judge.test.ts"];
const OBEYING_TESTS = ["disputes/judging/obeying-model.test.ts"];

/** Faults in disputes: what is judged, what is stored, and what is verified. */
export const DISPUTE_FAULTS: ApiMutant[] = [
  {
    fault: "a dispute is judged by a copy without it",
    file: RULER,
    from: "if (!hasDispute(record, dispute)) {",
    to: 'if (record._id === "" && !hasDispute(record, dispute)) {',
    tests: RULER_TESTS,
  },
  {
    fault: "a dispute that isn't open is judged",
    file: RULER,
    from: '{ network: this.#deps.network, isOpen: true, dueAt: { $type: "date", $lte: at } },',
    to: '{ network: this.#deps.network, dueAt: { $type: "date", $lte: at } },',
    tests: RULER_TESTS,
  },
  {
    fault: "a ruling comes before the seller's time for the payload is over",
    file: RULER,
    from: "time <= end) {",
    to: "time < end) {",
    tests: RULER_TESTS,
  },
  {
    fault: "a payload on a chain whose clock is ahead is dated by the wall clock",
    file: "features/transactions/delivery.ts",
    from: "const receivedAt = byChainClock(updatedAt, chainNow);",
    to: "const receivedAt = byChainClock(updatedAt, 0 * chainNow);",
    tests: CLOCK_TESTS,
  },
  {
    fault: "a ruling on a chain whose clock is ahead is dated by the wall clock",
    file: "features/disputes/rulings.ts",
    from: "byChainClock(later(updatedAt, record.payloadReceivedAt), await reader.chainNow(record.network));",
    to: "later(updatedAt, record.payloadReceivedAt);",
    tests: CLOCK_TESTS,
  },
  {
    fault: "a payload that the dispute called for counts as in time",
    file: "features/disputes/load-case.ts",
    from: 'if (receivedAt > disputedAt) return isInTime ? "late" : "after_dispute";',
    to: 'if (receivedAt > disputedAt && !isInTime) return "after_dispute";',
    tests: RULER_TESTS,
  },
  {
    fault: "a result about something else is paid because it shares a word with the request",
    file: UNRELATED,
    from: "const CHANCE_TERMS = 2;",
    to: "const CHANCE_TERMS = 0;",
    tests: UNRELATED_TESTS,
  },
  {
    fault: "a result is called unrelated to a request that leaves its subject open",
    file: UNRELATED,
    from: "if (leavesSubjectOpen(dispute)) return false;",
    to: "",
    tests: UNRELATED_TESTS,
  },
  {
    fault: "a few words are enough to be called unrelated",
    file: UNRELATED,
    from: "words >= LEAST_WORDS &&",
    to: "words >= 0 &&",
    tests: UNRELATED_TESTS,
  },
  {
    fault: "an honest result in other words is called unrelated",
    file: UNRELATED,
    from: "const PASSAGE_COSINE = 0.24;",
    to: "const PASSAGE_COSINE = 2;",
    tests: UNRELATED_TESTS,
  },
  {
    fault: "a sentence is paid for saying that a check is answered",
    file: "features/disputes/judging/substance.ts",
    from: "!LABELS.has(term) && !TALK.has(term)",
    to: "!LABELS.has(term)",
    tests: ["disputes/judging/claims-about-checks.test.ts"],
  },
  {
    fault: "a ruling rests on less than the parties handed in",
    file: RULINGS,
    from: "toBasis(current, delivery) !== toBasis(dispute, record)",
    to: 'toBasis(current, delivery) === ""',
    tests: RULER_TESTS,
  },
  {
    fault: "a second ruling replaces the first",
    file: RULINGS,
    from: 'if (current.ruling !== null && (ruledBy !== "admin" || current.ruling.ruledBy !== "system")) return "refused";',
    to: 'if (current.ruling !== null && ruledBy === "system") current.ruling = null;',
    tests: RULER_TESTS,
  },
  {
    fault: "an old reading opens a dispute that the follower has ended",
    file: BOOK,
    from: "if (known !== null) return known;",
    to: "if (known?.isOpen === true) return known;\n      await disputes.deleteOne({ _id });",
    tests: REORGANISATION_TESTS,
  },
  {
    fault: "a dispute that is opened again takes no evidence",
    file: BOOK,
    from: "{ $cond: [{ $or: [isSame, isRuled] },",
    to: "{ $cond: [{ $or: [isSame, isRuled, true] },",
    tests: REORGANISATION_TESTS,
  },
  {
    fault: "evidence is taken after a party has marked its own complete",
    file: SERVICE,
    from: "          [`complete.${side}`]: null,\n",
    to: "",
    tests: ["disputes/parties.test.ts"],
  },
  {
    fault: "a verification doesn't compare the outcome on chain",
    file: VERIFICATION,
    from: "holds: onChain === rationaleHash && isExecuted,",
    to: "holds: onChain === rationaleHash || (isExecuted && onChain === rationaleHash),",
    tests: ["disputes/ruling.test.ts"],
  },
  {
    fault: "a buyer gains half by making the model refuse",
    file: JUDGE,
    from: 'directives.some(({ by }) => by === "buyer");',
    to: 'directives.some(({ by, text }) => by === "buyer" && text === "");',
    tests: MODEL_TESTS,
  },
  {
    fault: "a silent buyer pays for a result about something else",
    file: JUDGE,
    from: "if (unlessUnrelated !== undefined && (await",
    to: "if (unlessUnrelated === facts.reasons && (await",
    tests: UNRELATED_TESTS,
  },
  {
    fault: "a silent buyer whose request addresses the judge wins",
    file: JUDGE,
    from: "withoutWinForAuthors(unrelated, directivesIn(seen.dispute));",
    to: "withoutWinForAuthors(unrelated, directivesIn(seen.dispute).slice(9));",
    tests: UNRELATED_TESTS,
  },
  {
    fault: "the verification refuses a silent buyer's refund for a result about something else",
    file: VERIFICATION,
    from: "facts.outcome === null || facts.unlessUnrelated !== undefined;",
    to: "facts.outcome === null || facts.unlessUnrelated === facts.reasons;",
    tests: ["disputes/ruling.test.ts"],
  },
  {
    fault: "an answer counts though the control questions beside it were answered wrongly",
    file: CONTROLS,
    from: 'isSound: isFalse === "not_met" && isTrue === "met",',
    to: 'isSound: isFalse === "not_met" || isTrue === "met",',
    tests: OBEYING_TESTS,
  },
  {
    fault: "a passage that breaks the control questions stays in view",
    file: DECIDING,
    from: "leftOut.add(keyOf(passage));",
    to: "leftOut.add(passage.text);",
    tests: OBEYING_TESTS,
  },
  {
    fault: "a quotation counts that isn't in the result",
    file: POINTING,
    from: "parts.some((one) => one.includes(part));",
    to: "parts.some((one) => one !== part);",
    tests: ["disputes/judging/pointing.test.ts"],
  },
];
