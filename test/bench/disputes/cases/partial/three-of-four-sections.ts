import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Due diligence one-pager",
  category: "research",
  request: { company: "Fjordline Batteries AS" },
  criteria: { schema: { type: "object", required: ["team", "market", "financials", "risks"] } },
  payload: {
    team: "Two founders from a cell maker, twelve staff.",
    market: "Marine storage, 4 GWh a year in the North Sea.",
    risks: "One supplier of cathode material.",
  },
  reason: "No financials.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "Four sections are required. Criteria have no weights, so three of four is a failure.",
});
