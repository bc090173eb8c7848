import { facts } from "../../dispute-case.ts";

export default facts({
  disputeAfterSeconds: 10,
  handover: "late",
  title: "Inspection notes",
  category: "quality_control",
  request: { house: "12 Mill Lane" },
  criteria: { checks: ["The report describes the damp in the attic."] },
  payload: {
    report:
      "The damp in the attic comes from a cracked tile beside the chimney and has stained two rafters, and it smells of mould.",
  },
  reason: "Delivered, they say. I see no report.",
  expected: "Split",
  decidedBy: "judgement",
  why: "Nothing was there when the buyer disputed, ten seconds after the delivery on chain, so the payload counts as late: it says what was asked.",
});
