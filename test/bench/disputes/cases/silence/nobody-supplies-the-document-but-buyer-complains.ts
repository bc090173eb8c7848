import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Escrow without a checkout",
  criteria: "unknown",
  payload: { hours: 6, done: "Moved the mail server to the new rack." },
  reason: "It was about the web server.",
  expected: "Split",
  decidedBy: "facts",
  why: "Without the document nobody knows what was agreed, and the seller is silent about it.",
});
