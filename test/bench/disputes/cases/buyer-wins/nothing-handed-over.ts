import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Landing page copy",
  category: "social_influence",
  request: { product: "Solar charge controller for boats", tone: "technical, calm" },
  criteria: { checks: ["The copy mentions the warranty of five years."] },
  payload: null,
  handover: "none",
  reason: "The seller submitted a proof on chain, but there is no copy. Nothing arrived by mail either.",
  evidence: [
    {
      by: "seller",
      type: "communication",
      description: "The copy is finished and I'm happy to send it once the dispute is closed.",
    },
  ],
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "No payload reached the service. A promise to send it later isn't a delivery.",
});
