import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Barcode lookup, strict",
  category: "data",
  request: { ean: "4006381333931" },
  criteria: {
    schema: {
      type: "object",
      additionalProperties: false,
      required: ["name"],
      properties: { name: { type: "string" } },
    },
  },
  payload: { name: "Highlighter, yellow", debug: { ms: 31 } },
  reason: "There's a debug key, and our importer is strict.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The schema forbids additional keys.",
});
