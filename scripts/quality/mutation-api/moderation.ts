import type { ApiMutant } from "./api-mutant.ts";

const GATE = "features/agents/trade-gate.ts";
const DECISIONS = "features/moderation/decisions.ts";
const TESTS = ["moderation/decisions.test.ts"];
const RACES = ["moderation/races.test.ts"];
const REPORTS = "features/moderation/reports.ts";
const REPORT_TESTS = ["moderation/reports.test.ts"];
const APPEALS = "features/moderation/appeals.ts";
const APPEAL_TESTS = ["moderation/appeals.test.ts"];

/** Faults in what operators decide about listings and agents, in reports and in appeals. */
export const MODERATION_FAULTS: ApiMutant[] = [
  {
    fault: "a suspended seller goes on dealing",
    file: GATE,
    from: "{ $in: [buyerAgentId, sellerAgentId] }",
    to: "{ $in: [buyerAgentId] }",
    tests: TESTS,
  },
  {
    fault: "a new listing overtakes its seller's suspension",
    file: GATE,
    from: "await takeTurn(agentId, session);\n      return",
    to: "return",
    tests: RACES,
  },
  {
    fault: "a buyer reads why its seller is suspended",
    file: GATE,
    from: "const own = found.find(({ _id }) => _id === buyerAgentId);",
    to: "const own = found[0];",
    tests: TESTS,
  },
  {
    fault: "a suspended seller's listings stay",
    file: DECISIONS,
    from: 'await listings.updateMany({ sellerAgentId: subjectId }, { ...changeOf("suspension"), ...revised }, { session });',
    to: "",
    tests: TESTS,
  },
  {
    fault: "restoring a seller restores what was hidden by itself",
    file: DECISIONS,
    from: 'changeOf("suspension")',
    to: 'changeOf("moderation")',
    tests: TESTS,
  },
  {
    fault: "a second decision replaces the one in force",
    file: DECISIONS,
    from: "if (stands !== undefined) return stands;",
    to: "void stands;",
    tests: TESTS,
  },
  {
    fault: "a new listing of a suspended seller is shown",
    file: "features/listings/service.ts",
    from: "...(suspension === undefined ? {} : { suspension }) }], { session });",
    to: "}], { session });",
    tests: TESTS,
  },
  {
    fault: "strangers read a hidden listing",
    file: "features/listings/service.ts",
    from: "if (listing.moderation === undefined || listing.sellerAgentId === reader.agentId) return listing;",
    to: "if (listing.sellerAgentId !== reader.agentId || listing.moderation === undefined) return listing;",
    tests: TESTS,
  },
  {
    fault: "the site map names hidden listings",
    file: "features/listings/published.ts",
    from: "isWithheld.has(_id) ? [] :",
    to: "isWithheld.size < 0 ? [] :",
    tests: TESTS,
  },
  {
    fault: "an agent tries as many ids as it likes in reports",
    file: REPORTS,
    from: 'await countInHour(countCall, { window: "reports", countedBy: "agent", id, limit: HOURLY });',
    to: "void [countInHour, countCall, id, HOURLY];",
    tests: REPORT_TESTS,
  },
  {
    fault: "an agent reports itself",
    file: REPORTS,
    from: "if (agentId === reporterId) throw",
    to: "if (agentId.length === 0) throw",
    tests: REPORT_TESTS,
  },
  {
    fault: "a report says that a hidden listing exists",
    file: REPORTS,
    from: "(isHidden && listing.sellerAgentId !== reporterId)",
    to: "(isHidden && listing.sellerAgentId === reporterId)",
    tests: REPORT_TESTS,
  },
  {
    fault: "a sender reports its message to another agent",
    file: "features/messages/reader.ts",
    from: "if (message === null || entry === null) throw",
    to: "if (message === null || (entry === null && message.fromAgentId !== agentId)) throw",
    tests: REPORT_TESTS,
  },
  {
    fault: "a subject that is reported again is looked for among closed reports",
    file: REPORTS,
    from: '.findOne({ reporterId, subjectId, state: "open" })',
    to: ".findOne({ reporterId, subjectId })",
    tests: REPORT_TESTS,
  },
  {
    fault: "of two reports of one subject at once, one fails",
    file: REPORTS,
    from: "const ATTEMPTS = 3;",
    to: "const ATTEMPTS = 1;",
    tests: REPORT_TESTS,
  },
  {
    fault: "a closed report is closed again",
    file: REPORTS,
    from: 'reporterId: found.reporterId, state: "open" as const }',
    to: "reporterId: found.reporterId }",
    tests: REPORT_TESTS,
  },
  {
    fault: "a closed report is kept for ever",
    file: REPORTS,
    from: "deleteAt: new Date(closedAt.getTime() + KEPT_MS),",
    to: "",
    tests: REPORT_TESTS,
  },
  {
    fault: "operators read closed reports first",
    file: "features/moderation/queue.ts",
    from: "isOpen ? OPEN : CLOSED",
    to: "isOpen ? CLOSED : OPEN",
    tests: REPORT_TESTS,
  },
  {
    fault: "a position among open reports leads to open ones in the list of closed ones",
    file: "features/moderation/queue.ts",
    from: "cursor.after > end ? end :",
    to: "cursor.after > END ? end :",
    tests: REPORT_TESTS,
  },
  {
    fault: "an agent appeals against another's decision",
    file: APPEALS,
    from: "if (decision?.agentId !== agentId) throw",
    to: "if (decision === null) throw",
    tests: APPEAL_TESTS,
  },
  {
    fault: "an appeal overtakes the restoration of its subject",
    file: APPEALS,
    from: "await gate.takeTurn(agentId, session);",
    to: "void gate;",
    tests: APPEAL_TESTS,
  },
  {
    fault: "a decision that was ended is appealed",
    file: APPEALS,
    from: "if (inForce !== decisionId) throw",
    to: "if (inForce === null) throw",
    tests: APPEAL_TESTS,
  },
  {
    fault: "a restoration leaves the appeal open",
    file: DECISIONS,
    from: "await appeals.grant(decision, session);",
    to: "void appeals;",
    tests: APPEAL_TESTS,
  },
  {
    fault: "an appeal is answered twice",
    file: APPEALS,
    from: '.findOneAndUpdate({ _id, state: "open" }',
    to: ".findOneAndUpdate({ _id }",
    tests: APPEAL_TESTS,
  },
  {
    fault: "the agent isn't told the answer",
    file: APPEALS,
    from: "if (answered !== null) await recorder.record([announcementOf(answered, at)], session);",
    to: "void [announcementOf, recorder];",
    tests: APPEAL_TESTS,
  },
  {
    fault: "an agent reads the decisions about others",
    file: APPEALS,
    from: "const filter = {\n      agentId,",
    to: "const filter = {\n      agentId: { $ne: agentId.slice(1) },",
    tests: APPEAL_TESTS,
  },
];
