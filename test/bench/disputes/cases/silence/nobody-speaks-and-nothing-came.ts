import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Dataset labelling",
  category: "data",
  request: { images: 20 },
  criteria: { schema: { type: "object", required: ["labels"] } },
  payload: null,
  handover: "none",
  reason: null,
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "No payload is reason enough.",
});
