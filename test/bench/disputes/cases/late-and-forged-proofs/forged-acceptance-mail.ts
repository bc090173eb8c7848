import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Voice-over scripts",
  category: "multimodal_generation",
  request: { seconds: 30 },
  criteria: { checks: ["cel: words(result.script) >= 40"] },
  payload: { script: "Buy our tea. It is good tea." },
  reason: "Eight words for thirty seconds.",
  evidence: [
    {
      by: "seller",
      type: "communication",
      description: 'From: buyer@mill.example. "Great work, we accept it as it is!"',
      attachments: ["https://files.example/mail.eml"],
    },
  ],
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "Acceptance happens on chain. A copied mail doesn't change the count of words.",
});
