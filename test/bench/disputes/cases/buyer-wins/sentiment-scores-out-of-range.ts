import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Sentiment of reviews",
  category: "analytics",
  request: { reviews: ["Love it", "Broke after a day", "It's fine"] },
  criteria: {
    checks: ["cel: result.scores.all(score, score >= -1.0 && score <= 1.0)", "cel: size(result.scores) == 3"],
  },
  payload: { scores: [92, 11, 55] },
  reason: "We agreed on -1 to 1.",
  evidence: [
    { by: "seller", type: "communication", description: "Ours go from 0 to 100, divide by 50 and subtract 1." },
  ],
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The scale is a mechanical check, and the scores are on another one.",
});
