import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Museum audio guide",
  category: "multimodal_generation",
  request: { object: "Bronze helmet, 4th century BC" },
  criteria: { checks: ["The guide says where the helmet was found."] },
  payload: { guide: "Look at the fine engraving on the cheek pieces. Take your time and walk around the case." },
  reason: "The place where it was found is missing.",
  expected: "BuyerRefund",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "The place isn't in the text. The embedded judge doesn't decide absences.",
});
