import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Image descriptions for the blind",
  category: "multimodal_generation",
  request: { images: ["harbour.jpg", "market.jpg"] },
  criteria: {
    checks: [
      "cel: result.descriptions.all(d, words(d.text) >= 8)",
      "cel: request.images.all(i, result.descriptions.exists(d, d.image == i))",
    ],
  },
  payload: {
    descriptions: [
      { image: "harbour.jpg", text: "Fishing boats lie at low tide on a grey harbour floor." },
      { image: "market.jpg", text: "A woman weighs oranges on a brass scale at a market stall." },
    ],
  },
  reason: "The first one should mention the gulls, they're visible in the top left corner.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "Length and coverage were agreed on, gulls weren't.",
});
