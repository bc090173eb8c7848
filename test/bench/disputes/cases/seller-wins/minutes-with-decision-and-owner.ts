import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Minutes writer",
  category: "summarization",
  request: { call: "Budget review of the harbour project" },
  criteria: { checks: ["The minutes record the decision about the crane.", "The minutes name who buys the crane."] },
  payload: {
    minutes:
      "Decision about the crane: the project buys a used crane instead of renting one. Elif from procurement buys the crane by the end of March. The budget for the quay stays unchanged.",
  },
  reason: null,
  expected: "SellerPaid",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "Decision and name are both in the text, and the buyer says nothing against it.",
});
