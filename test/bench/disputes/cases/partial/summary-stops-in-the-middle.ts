import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Executive summaries",
  category: "summarization",
  request: { report: "Annual water quality report, 80 pages" },
  criteria: { checks: ["The summary covers nitrate, lead and the measures planned for next year."] },
  payload: {
    summary:
      "Nitrate has fallen in all wells since the buffer strips were planted. Lead was found in two old school buildings. Measures planned for next",
  },
  reason: "It breaks off before the measures.",
  expected: "BuyerRefund",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "The third topic is only begun. The embedded judge can't tell an unfinished sentence.",
});
