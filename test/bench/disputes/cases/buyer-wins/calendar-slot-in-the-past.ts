import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Meeting scheduling across time zones",
  category: "executive_assistance",
  request: { people: ["Ana (Lisbon)", "Kofi (Accra)"], notBefore: "2026-11-10T09:00:00Z", minutes: 30 },
  criteria: {
    checks: ["cel: timestamp(result.start) >= timestamp(request.notBefore)", "cel: result.minutes == request.minutes"],
  },
  payload: { start: "2026-11-03T10:00:00Z", minutes: 30, note: "Both calendars are free." },
  reason: "The slot lies a week before the first day that we allowed.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The start is before `notBefore` of the request.",
});
