import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Competitor price scrape",
  category: "data",
  request: { shop: "https://bikes.example", products: 40 },
  criteria: { checks: ["cel: size(result.prices) >= 2"] },
  payload: {
    prices: [
      { sku: "GX-200", price: 1299.0 },
      { sku: "GX-310", price: 1799.0 },
    ],
  },
  handover: "after_dispute",
  reason: "Delivered on chain two hours ago, but no data came.",
  evidence: [
    { by: "seller", type: "delivery_proof", description: "The payload is online now, please release the funds." },
  ],
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The payload arrived after the buyer had disputed. A dispute must not be the reminder to deliver.",
});
