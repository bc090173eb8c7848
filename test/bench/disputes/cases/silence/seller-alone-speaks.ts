import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Network topology diagram",
  category: "infrastructure",
  request: { sites: 2 },
  payload: { mermaid: "graph LR; oslo --- bergen" },
  reason: null,
  evidence: [{ by: "seller", type: "delivery_proof", description: "Both sites and their link, as ordered." }],
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "The buyer who opened the dispute says nothing at all.",
});
