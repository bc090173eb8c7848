import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Escrow without a checkout",
  criteria: "unknown",
  payload: { invoice: "2026-77", status: "repaired, tested at 40 bar" },
  handover: "late",
  reason: null,
  expected: "Split",
  decidedBy: "facts",
  why: "Nothing says that the repair is bad, but it was handed over late.",
});
