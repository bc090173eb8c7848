import { disputeCase } from "../../dispute-case.ts";

export default disputeCase({
  title: "Weather alerts",
  category: "monitoring",
  request: { city: "Nuuk" },
  payload: {},
  reason: "Empty.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "No value at all is in it.",
});
