import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Haiku on demand",
  description: "One haiku about the subject that you send.",
  category: "multimodal_generation",
  request: { subject: "autumn rain on a tin roof" },
  payload: { haiku: "Autumn rain drumming\non the rusty roof of tin:\nthe house learns to sing." },
  reason: "I don't like it.",
  expected: "SellerPaid",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "It is a haiku about autumn rain on a tin roof. Dislike shows no fault, and the burden of proof is the buyer's.",
});
