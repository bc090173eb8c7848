import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Summaries of meeting transcripts",
  description: "Decisions, open questions and owners from a transcript.",
  category: "summarization",
  request: { transcript: "Mia: we ship on the 3rd. Tom: I still need the icons. Mia: Lea draws them by Friday." },
  payload: { decisions: ["Ship on the 3rd"], open: ["Icons"], owners: { icons: "Lea, by Friday" } },
  reason: "Quality issues.",
  expected: "SellerPaid",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: 'The summary has each point of the transcript, and "quality issues" names none that is missing.',
});
