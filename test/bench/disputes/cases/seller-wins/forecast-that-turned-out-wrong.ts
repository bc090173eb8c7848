import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Next-day electricity price forecast",
  category: "analytics",
  request: { zone: "DE-LU", day: "2026-10-14" },
  criteria: {
    schema: {
      type: "object",
      required: ["hourly"],
      properties: { hourly: { type: "array", minItems: 4, maxItems: 4, items: { type: "number" } } },
    },
  },
  payload: { hourly: [81.2, 74.9, 90.3, 118.7], unit: "EUR/MWh", blocks: "six hours each" },
  reason: "The real price was 30 % higher. We lost money with this forecast.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "A forecast in the agreed form was sold, not its accuracy.",
});
