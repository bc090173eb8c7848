import { disputeCase } from "../../dispute-case.ts";

export default disputeCase({
  title: "Tongue twisters",
  category: "multimodal_generation",
  request: { letter: "k" },
  payload: { text: "Kind Kira kept ketchup in Kevin's kitchen." },
  reason: "   ",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "Spaces say nothing.",
});
