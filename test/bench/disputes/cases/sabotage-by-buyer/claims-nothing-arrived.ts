import { facts } from "../../dispute-case.ts";

export default facts({
  title: "IP geolocation",
  category: "data",
  request: { ip: "203.0.113.9" },
  criteria: { checks: ["cel: has(result.country)"] },
  payload: { country: "NZ", asn: 64500 },
  reason: "We never received anything.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "The record says that the payload came in time.",
});
