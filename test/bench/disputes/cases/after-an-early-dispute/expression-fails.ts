import { facts } from "../../dispute-case.ts";

export default facts({
  disputeAfterSeconds: 10,
  handover: "late",
  title: "Lists of trade fairs",
  category: "research",
  request: { fairs: 5 },
  criteria: { checks: ["cel: size(result.fairs) == request.fairs"] },
  payload: { fairs: ["Hannover", "Basel"] },
  reason: "First nothing, then two fairs of five.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "Late is one thing. It fails the agreed check as well, and each part of the criteria binds.",
});
