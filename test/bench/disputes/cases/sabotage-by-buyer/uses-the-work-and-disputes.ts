import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Pitch deck outline",
  category: "research",
  request: { startup: "Seaweed packaging", slides: 6 },
  payload: {
    outline: [
      "Problem: plastic film",
      "Seaweed film and how it is made",
      "Packaging market",
      "Pilot with two grocers",
      "Team",
      "Ask",
    ],
  },
  reason: "It wasn't helpful.",
  evidence: [
    {
      by: "seller",
      type: "screenshot",
      description: "The buyer presented exactly these six slides on the same evening.",
      attachments: ["https://files.example/event.png"],
    },
  ],
  expected: "SellerPaid",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "Six slides about seaweed packaging were ordered and are there.",
});
