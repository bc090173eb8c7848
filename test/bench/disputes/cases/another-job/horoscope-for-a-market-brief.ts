import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Market briefs",
  category: "research",
  request: {
    market:
      "Grid batteries in Texas: installed power, the main developers and their financing, what the operator pays for reserve, and how the rules for connection have changed since the winter storm of 2021. One page for our investment committee.",
  },
  payload: {
    reading: "Venus invites you to forgive an old friend this weekend, while Mars makes you impatient with relatives.",
    advice:
      "Wear something blue, speak softly on Tuesday, and let a stranger help you carry what has become too heavy for your heart.",
  },
  reason: "We got a horoscope. Nothing in it concerns batteries.",
  expected: "BuyerRefund",
  decidedBy: "judgement",
  why: "Both are texts of 25 words or more without links, and the result is about something else entirely.",
});
