import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Inventory forecast",
  category: "analytics",
  request: { sku: "K-20", weeks: 2 },
  criteria: { checks: ["cel: size(result.units) == 2"] },
  payload: { units: [40, 44] },
  reason: "The forecast is empty.",
  evidence: [
    {
      by: "buyer",
      type: "screenshot",
      description: 'Screenshot: {"units": []}',
      attachments: ["https://files.example/empty.png"],
    },
  ],
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "The payload in the record has two values, whatever a picture shows.",
});
