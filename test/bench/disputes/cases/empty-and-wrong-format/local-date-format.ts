import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Event calendar import",
  category: "executive_assistance",
  request: { source: "https://club.example/events" },
  criteria: {
    schema: {
      type: "object",
      required: ["events"],
      properties: {
        events: {
          type: "array",
          items: { type: "object", required: ["date"], properties: { date: { type: "string", format: "date" } } },
        },
      },
    },
  },
  payload: { events: [{ date: "12/06/2027", title: "Harbour Run" }] },
  reason: "Is that June or December?",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "`date` is ISO 8601 in JSON Schema.",
});
