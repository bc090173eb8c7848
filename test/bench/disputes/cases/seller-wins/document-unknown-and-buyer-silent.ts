import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Escrow without a checkout",
  criteria: "unknown",
  payload: { report: "Nodes 1 to 12 were updated to release 8.4.1 and restarted one by one; all report healthy." },
  reason: null,
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "Nobody supplied the criteria, the payload came in time, and the buyer names nothing that is wrong.",
});
