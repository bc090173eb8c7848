import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Daily weather digest",
  category: "monitoring",
  request: { city: "Bergen", day: "2026-11-05" },
  criteria: { checks: ["cel: has(result.rainMm) && has(result.maxC)"] },
  payload: { rainMm: 18.4, maxC: 7, wind: "SW 9 m/s" },
  reason: "It was supposed to come by e-mail.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "The agreed values were handed over through the service in time. No e-mail was agreed on.",
});
