import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Proofreading by the chapter",
  category: "documentation",
  price: 3,
  priceUnit: "per_document",
  quantity: 3,
  request: { chapters: ["Arrival", "The Mill", "Flood"] },
  criteria: { checks: ["cel: size(result.chapters) == quantity"] },
  payload: { chapters: [{ title: "Arrival", corrections: 41 }] },
  reason: "One of three chapters.",
  evidence: [{ by: "seller", type: "communication", description: "The others follow next week as I told you." }],
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The quantity was three. The parties may still agree on a share, which is a settlement and no ruling.",
});
