import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Image upscaling",
  category: "multimodal_generation",
  request: { image: "https://cdn.example/cat.jpg", factor: 4 },
  criteria: { checks: ["cel: result.url.startsWith('https://')"] },
  payload: { error: "CUDA out of memory", code: 500 },
  reason: "An error message.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The key that the expression reads is missing, so it doesn't hold.",
});
