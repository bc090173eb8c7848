import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Illustration briefs",
  category: "multimodal_generation",
  request: { book: "The lighthouse cat", spreads: 2 },
  criteria: { checks: ["cel: size(result.spreads) == request.spreads", "cel: result.status == 'final'"] },
  payload: { status: "draft", spreads: ["The cat on the stairs", "The storm from the gallery"] },
  reason: "Still a draft.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The state had to be final, and the payload itself says draft.",
});
