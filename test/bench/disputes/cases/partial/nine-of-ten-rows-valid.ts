import { facts } from "../../dispute-case.ts";

export default facts({
  title: "E-mail list hygiene",
  category: "data",
  request: { count: 4 },
  criteria: {
    schema: {
      type: "object",
      required: ["emails"],
      properties: { emails: { type: "array", minItems: 4, items: { type: "string", format: "email" } } },
    },
  },
  payload: { emails: ["ana@mill.example", "bo@mill.example", "cy@mill.example", "dee(at)mill.example"] },
  reason: "The last address isn't one.",
  evidence: [{ by: "seller", type: "communication", description: "Three of four are fine, please pay 75 %." }],
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "One address fails the format. A judge may not invent a price for the other three.",
});
