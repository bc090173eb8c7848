import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Flight price alert",
  category: "monitoring",
  request: { route: "LIS-ACC", below: 500 },
  criteria: { checks: ["cel: result.price < request.below"] },
  payload: { price: 462, airline: "TAP" },
  handover: "late",
  reason: "The alert came too late to book.",
  expected: "Split",
  decidedBy: "facts",
  why: "The payload passes and came after its time: the facts conflict.",
});
