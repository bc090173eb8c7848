import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Postal code validation",
  category: "data",
  request: { codes: ["1010", "80331"] },
  criteria: {
    schema: {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      required: ["valid"],
      properties: {
        valid: { type: "array", items: [{ type: "boolean" }, { type: "boolean" }], additionalItems: false },
      },
    },
  },
  payload: { valid: [true, true, true] },
  reason: "Three results for two codes.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "Draft-07 reads `items` as a tuple, and a third item is forbidden.",
});
