import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Sanctions list screening",
  category: "legal_compliance",
  request: { names: ["Marta Nowak", "Blue Fjord Shipping AS"] },
  criteria: {
    schema: {
      type: "object",
      required: ["hits", "listsChecked"],
      properties: { hits: { type: "array" }, listsChecked: { type: "array", minItems: 3 } },
    },
  },
  payload: { hits: [], listsChecked: ["UN", "EU", "OFAC SDN"], checkedAt: "2026-11-02T08:12:00Z" },
  reason: "An empty list of hits is no work.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "No hit is a valid result of a screening, and the payload says which lists were checked.",
});
