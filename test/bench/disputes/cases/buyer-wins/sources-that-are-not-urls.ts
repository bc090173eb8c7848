import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Fact check of a claim",
  category: "research",
  request: { claim: "Iceland's last McDonald's closed in 2009." },
  criteria: {
    schema: {
      type: "object",
      required: ["verdict", "sources"],
      properties: {
        verdict: { enum: ["true", "false", "unclear"] },
        sources: { type: "array", minItems: 2, items: { type: "string", format: "uri" } },
      },
    },
  },
  payload: { verdict: "true", sources: ["common knowledge", "several newspapers"] },
  reason: "No source can be opened.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "Sources had to be addresses. The verdict may be right and is still worth nothing without them.",
});
