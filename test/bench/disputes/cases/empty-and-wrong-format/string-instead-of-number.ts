import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Carbon footprint of shipments",
  category: "analytics",
  request: { kg: 1200, km: 800 },
  criteria: {
    schema: { type: "object", required: ["co2Kg"], properties: { co2Kg: { type: "number", exclusiveMinimum: 0 } } },
  },
  payload: { co2Kg: "about 60 kilos" },
  reason: "Our sum function can't add words.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "A number was agreed on.",
});
