import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Stock photo search",
  category: "multimodal_generation",
  request: { query: "foggy harbour at dawn" },
  payload: { photos: [] },
  reason: null,
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "An empty list isn't a result. Silence doesn't fill it.",
});
