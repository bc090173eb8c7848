import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Meta descriptions",
  category: "marketing",
  request: { page: "https://mill.example/tours" },
  criteria: { checks: ["cel: size(result.meta) <= 160 && size(result.meta) >= 50"] },
  payload: {
    meta: "Tours of a working windmill: grind your own flour, climb the cap and taste the bread. Every Saturday.",
  },
  reason: 'Our specification demands the word "heritage".',
  evidence: [
    {
      by: "buyer",
      type: "specification",
      description: "Specification v2, page 3: each text contains the word heritage.",
      attachments: ["https://files.example/spec-v2.pdf"],
    },
  ],
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "That specification isn't part of the criteria.",
});
