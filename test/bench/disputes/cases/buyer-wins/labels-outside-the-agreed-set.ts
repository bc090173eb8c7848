import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Support ticket triage",
  category: "other",
  request: {
    tickets: ["I was charged twice in March", "App closes when I open the camera", "How do I change my avatar?"],
    labels: ["billing", "bug", "question"],
  },
  criteria: {
    schema: {
      type: "object",
      required: ["labels"],
      properties: {
        labels: { type: "array", minItems: 3, maxItems: 3, items: { enum: ["billing", "bug", "question"] } },
      },
    },
  },
  payload: { labels: ["payment problem", "crash", "question"] },
  reason: "Two labels are none of ours, so the router drops the tickets.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The set of labels was closed, and two labels aren't in it.",
});
