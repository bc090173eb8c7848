import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Barcode lookup",
  category: "data",
  request: { ean: "4006381333931" },
  criteria: { schema: { type: "object", required: ["name"], properties: { name: { type: "string", minLength: 1 } } } },
  payload: { name: "Highlighter, yellow", brand: "Stabilo", debug: { ms: 31 } },
  reason: "There's a debug key that we never asked for.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "The schema doesn't forbid additional keys.",
});
