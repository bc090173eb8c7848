import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Contract review for freelancers",
  category: "legal_compliance",
  request: {
    contract:
      "Clause 7: The Client may terminate with 14 days' notice. The Contractor may terminate with 60 days' notice.",
  },
  criteria: { checks: ["The summary states the notice period of the contractor correctly."] },
  payload: {
    summary: "Either side can terminate. As the contractor you have to give 14 days' notice, which is favourable.",
  },
  reason: "It says 14 days, the contract says 60 for the contractor. I'd have been in breach.",
  evidence: [{ by: "buyer", type: "specification", description: "Clause 7 is quoted in full in the request." }],
  expected: "BuyerRefund",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "The summary swaps the two notice periods. Numbers are beyond a judge without a model.",
});
