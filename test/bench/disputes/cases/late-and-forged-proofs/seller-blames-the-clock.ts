import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Auction sniping report",
  category: "trading",
  request: { lot: 118 },
  criteria: { checks: ["cel: has(result.finalPrice)"] },
  payload: { finalPrice: 2150, bids: 17 },
  handover: "late",
  reason: "Late.",
  evidence: [
    {
      by: "seller",
      type: "other",
      description: "Our server clock shows 12:00:31, one minute earlier than the platform claims.",
    },
  ],
  expected: "Split",
  decidedBy: "facts",
  why: "The platform's record of the time counts for both sides.",
});
