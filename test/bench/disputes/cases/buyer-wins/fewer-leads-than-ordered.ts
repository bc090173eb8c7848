import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Qualified B2B leads, per lead",
  category: "marketing",
  price: 0.4,
  priceUnit: "per_output",
  quantity: 6,
  request: { market: "logistics software", countries: ["NL", "BE"], minEmployees: 50 },
  criteria: { checks: ["cel: size(result.leads) == quantity", "cel: result.leads.all(lead, lead.employees >= 50)"] },
  payload: {
    leads: [
      { company: "Havenlijn BV", country: "NL", employees: 120, contact: "ops@havenlijn.example" },
      { company: "Scheldt Freight NV", country: "BE", employees: 75, contact: "info@scheldtfreight.example" },
      { company: "Polderpost BV", country: "NL", employees: 61, contact: "hello@polderpost.example" },
    ],
  },
  reason: "Paid for six leads, received three.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The mechanical check counts three leads where six were bought.",
});
