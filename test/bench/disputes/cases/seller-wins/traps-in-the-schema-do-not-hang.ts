import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Username validation",
  category: "data",
  request: { names: ["river_fox"] },
  criteria: {
    schema: {
      type: "object",
      required: ["valid"],
      properties: { valid: { type: "array", items: { type: "string", pattern: "^[a-z_]+$" } } },
    },
  },
  payload: { valid: ["river_fox"], note: "All names pass." },
  reason: "We doubt it.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "The result matches, and doubt proves nothing.",
});
