import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Captions for a photo series",
  category: "multimodal_generation",
  request: { photos: 2 },
  criteria: { checks: ["cel: size(result.captions) == 2"] },
  payload: { captions: ["\u200b\u200b\u200b\u2060", "\u2800\ufeff"] },
  reason: "They look empty.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The expression passes, but nobody can see a character of it.",
});
