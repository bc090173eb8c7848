import { facts } from "../../dispute-case.ts";

export default facts({
  title: "One-line bios",
  category: "social_influence",
  request: { person: "Iris Vance, potter" },
  criteria: { checks: ["The bio is shorter than ten words.", "The bio is longer than twenty words."] },
  payload: { bio: "Iris Vance makes quiet pots from loud clay." },
  reason: "It isn't longer than twenty words.",
  expected: "BuyerRefund",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "One of two contradictory checks always fails, and the seller accepted both. Counting words is beyond the embedded judge.",
});
