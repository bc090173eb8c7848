import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Weather alerts",
  category: "monitoring",
  request: { city: "Nuuk" },
  payload: {},
  reason: "Empty.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "No value at all is in it.",
});
