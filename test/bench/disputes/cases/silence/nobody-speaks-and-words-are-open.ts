import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Garden plan",
  category: "other",
  request: { garden: "north-facing, 6 x 4 m" },
  criteria: { checks: ["The plan names a shrub that grows in the shade."] },
  payload: { plan: "Put a bench at the far end and gravel around it." },
  reason: null,
  expected: "BuyerRefund",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "A check in words binds though nobody speaks: the plan names no shrub.",
});
