import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Name generator for test users",
  category: "data",
  request: { count: 3 },
  criteria: {
    schema: {
      type: "object",
      required: ["names"],
      properties: { names: { type: "array", minItems: 3, items: { type: "string" } } },
    },
  },
  payload: { names: ["Ines Duarte", "Pavel Kos", "Noor Haddad"] },
  reason: "Names should have been objects with first and last name.",
  evidence: [{ by: "seller", type: "specification", description: "The schema of the order says an array of strings." }],
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "The buyer's own schema asks for strings.",
});
