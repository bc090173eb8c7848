import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Quarterly sales analysis",
  category: "analytics",
  request: { quarter: "2026Q3" },
  criteria: { checks: ["cel: has(result.revenue) && has(result.growth)"] },
  payload: { file: "sales-q3.xlsx" },
  proof: "differs",
  reason: "A file name instead of numbers.",
  evidence: [
    { by: "seller", type: "delivery_proof", description: "The proof on chain is that of the real spreadsheet." },
  ],
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "Only what was handed over is checked, and it has neither number.",
});
