import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Recipe scaling",
  category: "other",
  request: { recipe: "Bread for 2 loaves", to: 5 },
  criteria: { checks: ["cel: result.loaves == request.to"] },
  payload: { loaves: 5, flourGrams: 2500 },
  reason: null,
  evidence: [{ by: "buyer", type: "other", description: "Photo.", attachments: ["https://files.example/bread.jpg"] }],
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "The expression holds, and a photo names no fault.",
});
