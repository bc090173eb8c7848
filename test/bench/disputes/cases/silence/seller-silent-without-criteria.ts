import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Phone script for a survey",
  category: "research",
  request: { topic: "Bus punctuality in Leeds", questions: 2 },
  payload: {
    script: ["How often is your bus in Leeds late by more than five minutes?", "Which bus line do you use most?"],
  },
  reason: "The questions are boring.",
  expected: "SellerPaid",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "Two questions about buses were ordered. A seller who doesn't defend them loses nothing by that.",
});
