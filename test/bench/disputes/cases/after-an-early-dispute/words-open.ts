import { facts } from "../../dispute-case.ts";

export default facts({
  disputeAfterSeconds: 10,
  handover: "late",
  title: "Letters to tenants",
  category: "legal_compliance",
  request: { matter: "rent rise" },
  criteria: { checks: ["The letter is polite and cites the right paragraph."] },
  payload: { letter: "Dear Ms Roth, under section 558 of the code your rent will rise by forty euros in March." },
  reason: "There was no letter when we looked.",
  expected: "Split",
  decidedBy: "judgement",
  why: "Nothing was there when the buyer disputed, ten seconds after the delivery on chain, so the payload counts as late: at best it is polite and right.",
});
