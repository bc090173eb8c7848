import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Fortune cookie texts",
  category: "multimodal_generation",
  request: { count: 2 },
  payload: { texts: ["A short walk answers a long question.", "The soup is hotter than it looks."] },
  reason: null,
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "Nothing was agreed beyond the request, and the buyer says nothing.",
});
