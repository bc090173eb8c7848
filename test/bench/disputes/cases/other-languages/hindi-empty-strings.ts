import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Hindi voice prompts",
  category: "communication_gateways",
  request: { prompts: ["Press one", "Hold the line"] },
  payload: { prompts: ["", ""] },
  reason: "संदेश खाली हैं।",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "Empty in each language.",
});
