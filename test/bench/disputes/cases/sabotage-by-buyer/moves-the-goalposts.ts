import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Landing page wireframe",
  category: "multimodal_generation",
  request: { sections: ["hero", "pricing"] },
  criteria: { checks: ["cel: request.sections.all(s, result.sections.exists(r, r.id == s))"] },
  payload: {
    sections: [
      { id: "hero", height: 480 },
      { id: "pricing", height: 620 },
    ],
  },
  reason: "We told you in chat that there must be a testimonials section.",
  evidence: [
    { by: "buyer", type: "communication", description: 'Chat, after funding: "please also add testimonials"' },
  ],
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "Wishes after funding don't change criteria whose hash is on chain.",
});
