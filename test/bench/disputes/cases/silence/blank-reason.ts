import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Tongue twisters",
  category: "multimodal_generation",
  request: { letter: "k" },
  payload: { text: "Kind Kira kept ketchup in Kevin's kitchen." },
  reason: "   ",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "Spaces say nothing.",
});
