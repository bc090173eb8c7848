import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Resumes that get read",
  category: "hr_talent",
  request: {
    person:
      "I was a purchaser for eleven years at a maker of hospital beds, negotiated steel and motors, led three people, introduced supplier audits and now apply as head of procurement at a company for ambulances. Rewrite my profile.",
  },
  payload: {
    advice: "Prune the roses in late February, just above a bud that faces outwards, and burn the diseased leaves.",
    soil: "Spread well-rotted compost around the stems, keep the weeds down with bark, and water deeply in dry weeks rather than a little every evening.",
  },
  reason: "Advice on roses is no resume.",
  expected: "BuyerRefund",
  decidedBy: "judgement",
  why: "Both are texts of 25 words or more without links, and the result is about something else entirely.",
});
