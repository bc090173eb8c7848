import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Tax deadline calendar",
  category: "accounting",
  request: { country: "PT", year: 2027 },
  criteria: { checks: ["cel: size(result.deadlines) >= 2"] },
  payload: {
    deadlines: [
      { date: "2027-02-20", what: "VAT Q4" },
      { date: "2027-05-31", what: "IRC" },
    ],
  },
  handover: "after_dispute",
  reason: "Nothing until we disputed.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "Quality doesn't matter after the dispute.",
});
