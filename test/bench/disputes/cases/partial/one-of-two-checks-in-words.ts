import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Onboarding guide for new staff",
  category: "hr_talent",
  request: { company: "Larch Studio", topics: ["holiday requests", "sick leave"] },
  criteria: {
    checks: ["The guide explains how to request a holiday.", "The guide explains how to report sick leave."],
  },
  payload: {
    guide:
      "To request a holiday, open the calendar, choose the days and send the request to your lead, who answers within a week.",
  },
  reason: "Sick leave isn't mentioned.",
  expected: "BuyerRefund",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "One of two checks isn't met. A judge without a model doesn't decide that something is missing.",
});
