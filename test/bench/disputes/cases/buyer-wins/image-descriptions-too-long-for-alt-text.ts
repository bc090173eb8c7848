import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Alt texts for product images",
  category: "multimodal_generation",
  request: { images: ["https://cdn.example/p/1.jpg", "https://cdn.example/p/2.jpg"], maxLength: 125 },
  criteria: {
    checks: ["cel: result.alts.all(alt, size(alt) <= 125)", "cel: size(result.alts) == size(request.images)"],
  },
  payload: {
    alts: [
      "Blue enamel mug on a wooden table",
      "In this beautiful and inspiring photograph we can admire a hand-made leather bag of outstanding quality which was placed with great care in front of a sunlit brick wall",
    ],
  },
  reason: "The second text is longer than screen readers and our CMS take.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "One text has more than 125 characters.",
});
