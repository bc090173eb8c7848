import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Product comparison",
  category: "research",
  request: { products: ["Aeropress", "French press"] },
  criteria: { checks: ["cel: size(result.rows) == 2", "The comparison says which of the two is easier to clean."] },
  payload: {
    rows: [
      { product: "Aeropress", price: 35 },
      { product: "French press", price: 28 },
    ],
  },
  reason: "Nothing about cleaning.",
  expected: "BuyerRefund",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "The rows are there and the cleaning isn't.",
});
