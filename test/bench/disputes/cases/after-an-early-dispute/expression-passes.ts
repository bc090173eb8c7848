import { facts } from "../../dispute-case.ts";

export default facts({
  disputeAfterSeconds: 10,
  handover: "late",
  title: "Exchange rates at noon",
  category: "data",
  request: { pairs: 3 },
  criteria: { checks: ["cel: size(result.rates) == request.pairs"] },
  payload: { rates: [1.08, 0.85, 163.2] },
  reason: "No rates have come.",
  expected: "Split",
  decidedBy: "facts",
  why: "Nothing was there when the buyer disputed, ten seconds after the delivery on chain, so the payload counts as late: it passes the check.",
});
