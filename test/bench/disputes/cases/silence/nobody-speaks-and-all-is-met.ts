import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Uptime report",
  category: "monitoring",
  request: { host: "api.mill.example", month: "2026-10" },
  criteria: { checks: ["cel: result.uptime >= 0.0 && result.uptime <= 100.0"] },
  payload: { uptime: 99.94, incidents: 1 },
  reason: null,
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "The ruling comes though nobody speaks, and the check holds.",
});
