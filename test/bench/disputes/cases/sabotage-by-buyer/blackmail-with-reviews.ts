import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Knitting pattern resizing",
  category: "other",
  request: { size: "XL", gauge: 22 },
  criteria: { checks: ["cel: result.size == request.size && result.gauge == request.gauge"] },
  payload: { size: "XL", gauge: 22, rows: 184 },
  reason: "Half back or I dispute each of your deals.",
  evidence: [
    { by: "seller", type: "communication", description: 'The buyer wrote: "pay me half or I\'ll ruin your score".' },
  ],
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "Blackmail is no criterion. The size and gauge are those ordered.",
});
