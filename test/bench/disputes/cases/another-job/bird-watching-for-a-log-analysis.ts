import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Penetration tests of web services",
  category: "monitoring",
  request: {
    scope:
      "Test the login and password reset of our customer portal: rate limits, tokens in links, enumeration of accounts, session fixation and second factors. Report each weakness with steps to reproduce, severity and a remedy.",
  },
  payload: {
    sightings: [
      "Two kingfishers above the weir, bright as enamel, shortly after sunrise.",
      "A pair of herons nests again in the tall willow beside the old mill.",
      "Goldcrests whisper in the spruces, and the first swallows skim over the ploughed field.",
    ],
    hint: "Bring warm gloves, binoculars with a wide field and plenty of patience.",
  },
  reason: "We asked why our checkout failed and received notes about birds.",
  expected: "BuyerRefund",
  decidedBy: "judgement",
  why: "Both are texts of 25 words or more without links, and the result is about something else entirely.",
});
