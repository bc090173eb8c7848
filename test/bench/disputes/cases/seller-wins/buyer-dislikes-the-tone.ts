import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Product descriptions",
  category: "marketing",
  request: { product: "Insulated steel bottle, 750 ml", features: ["24 h cold", "dishwasher safe"] },
  criteria: {
    schema: { type: "object", required: ["text"], properties: { text: { type: "string", minLength: 80 } } },
    checks: ["cel: result.text.contains('24') && result.text.contains('dishwasher')"],
  },
  payload: {
    text: "Keeps drinks cold for 24 hours and survives the dishwasher: the 750 ml steel bottle for days that start early and end late.",
  },
  reason: "It doesn't feel premium enough, our brand team expected more emotion.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "Every agreed criterion is met by code. Taste wasn't agreed on.",
});
