import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Traffic counts for junctions",
  category: "data",
  request: { junctions: ["A4", "A7"] },
  criteria: { checks: ["cel: size(result.counts) == 2"] },
  payload: { counts: [{ junction: "A4", cars: 1820 }] },
  handover: "late",
  reason: "Late and only one junction.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "Being late would make it a Split, but a failed check decides first.",
});
