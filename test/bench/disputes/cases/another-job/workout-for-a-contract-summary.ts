import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Contract summaries in plain words",
  category: "summarization",
  request: {
    contract:
      "The distributor buys for its own account and may not sell competing valves. Minimum purchases are fixed each year; if they are missed twice, exclusivity ends. Liability is capped at the turnover of the preceding year. Disputes go to arbitration in Zurich.",
  },
  payload: {
    monday: "Warm up on the rowing machine, then three rounds of squats, push-ups and planks with a minute of rest.",
    friday:
      "Jog gently through the park, stretch your calves and hamstrings, and sleep early with your phone in another room.",
  },
  reason: "A training plan instead of a summary of the distribution contract.",
  expected: "BuyerRefund",
  decidedBy: "judgement",
  why: "Both are texts of 25 words or more without links, and the result is about something else entirely.",
});
