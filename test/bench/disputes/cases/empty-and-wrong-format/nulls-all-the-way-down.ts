import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Competitor feature matrix",
  category: "research",
  request: { products: ["A", "B"] },
  criteria: { schema: { type: "object", required: ["matrix"] } },
  payload: { matrix: { A: { sso: null, api: null }, B: { sso: null, api: null } } },
  reason: "A matrix of nulls.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The schema is satisfied and nothing is in it.",
});
