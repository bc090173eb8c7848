import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Room booking at a hotel",
  category: "booking",
  request: { city: "Porto", night: "2026-11-20" },
  criteria: { checks: ["cel: has(result.confirmation)"] },
  payload: null,
  handover: "none",
  reason: "The hotel doesn't know us.",
  evidence: [
    {
      by: "seller",
      type: "screenshot",
      description: "Screenshot of our console: status 200, delivered.",
      attachments: ["https://files.example/console.png"],
    },
  ],
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The service's record has no payload. A picture of a console is no record.",
});
