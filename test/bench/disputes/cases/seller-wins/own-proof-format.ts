import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Weekly on-chain flow report",
  category: "onchain_intelligence",
  request: { token: "USDC", week: 41 },
  criteria: { checks: ["cel: result.netFlow == result.inflow - result.outflow", "cel: size(result.top) >= 2"] },
  payload: {
    inflow: 1200000.0,
    outflow: 950000.0,
    netFlow: 250000.0,
    top: [
      { label: "Exchange A", net: 180000.0 },
      { label: "Bridge B", net: 40000.0 },
    ],
  },
  proof: "differs",
  reason: "The hash on chain isn't the hash of the JSON that the service shows.",
  evidence: [
    {
      by: "seller",
      type: "delivery_proof",
      description: "The proof on chain is the hash of the PDF edition of the same report.",
    },
  ],
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "Sellers may commit in a form of their own, so another proof is no failure. The payload came in time and passes every check.",
});
