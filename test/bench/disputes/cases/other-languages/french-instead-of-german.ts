import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Translation of safety notices",
  category: "translation",
  request: { text: "Wear gloves.", to: "de" },
  criteria: { checks: ["The notice is in German."] },
  payload: { text: "Portez des gants de protection." },
  reason: "That's French.",
  expected: "BuyerRefund",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "French isn't German. The embedded judge doesn't recognise languages.",
});
