import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Technical translations into English",
  category: "translation",
  request: {
    language: "from Dutch",
    terms:
      "Translate the safety chapter for our milking robot: how the farmer locks the arm, cleans the laser, resets the vacuum pump and calls for service. Keep the numbering and the warning words.",
  },
  payload: {
    concept: "A round emblem in forest green with a stylised oak leaf whose veins form the letter B.",
    usage:
      "It is drawn for stationery, shop windows and embroidered caps, and comes with a lighter variant for dark backgrounds and a monochrome stamp.",
  },
  reason: "We ordered a translated chapter about a milking robot and got the concept of an emblem.",
  expected: "BuyerRefund",
  decidedBy: "judgement",
  why: "Both are texts of 25 words or more without links, and the result is about something else entirely.",
});
