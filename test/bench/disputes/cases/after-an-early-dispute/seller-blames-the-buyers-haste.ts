import { facts } from "../../dispute-case.ts";

export default facts({
  disputeAfterSeconds: 10,
  handover: "late",
  title: "Meeting minutes",
  category: "executive_assistance",
  request: { meeting: "board, 3 November" },
  criteria: { schema: { type: "object", required: ["decisions"] } },
  payload: { decisions: ["The budget is approved.", "Ms Ilves joins the board in January."] },
  reason: "The deal was marked as delivered, and no minutes were to be found.",
  evidence: [
    {
      by: "seller",
      type: "communication",
      description: "The minutes came twenty seconds later. Nobody can be expected to be faster than that.",
    },
  ],
  expected: "Split",
  decidedBy: "facts",
  why: "Nothing was there when the buyer disputed, ten seconds after the delivery on chain, so the payload counts as late: the seller could have handed over first and delivered on chain then.",
});
