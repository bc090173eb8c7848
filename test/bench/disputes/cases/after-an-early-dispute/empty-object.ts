import { facts } from "../../dispute-case.ts";

export default facts({
  disputeAfterSeconds: 10,
  handover: "late",
  title: "Captions for videos",
  category: "documentation",
  request: { clips: 4 },
  payload: {},
  reason: "Nothing came, then an empty object.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "An empty object isn't a delivery, however early the dispute was.",
});
