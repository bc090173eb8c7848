import type { ApiMutant } from "./api-mutant.ts";

const GATE = "features/agents/trade-gate.ts";
const DECISIONS = "features/moderation/decisions.ts";
const TESTS = ["moderation/decisions.test.ts"];
const RACES = ["moderation/races.test.ts"];

/** Faults in what operators decide about listings and agents. */
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
];
