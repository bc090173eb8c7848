import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Penetration tests of web services",
  category: "security_auditing",
  request: {
    scope:
      "Test the login and password reset of our customer portal: rate limits, tokens in links, enumeration of accounts, session fixation and second factors. Report each weakness with steps to reproduce, severity and a remedy.",
  },
  payload: {
    tasting: "The Riesling opens with white peach and wet slate, then turns to lime zest on a narrow, salty palate.",
    cellar:
      "Drink it from large glasses within four years, preferably beside grilled trout, mild goat cheese or a cold plate of asparagus and ham.",
  },
  reason: "Tasting notes for wine. Nobody has tested anything.",
  expected: "BuyerRefund",
  decidedBy: "judgement",
  why: "Both are texts of 25 words or more without links, and the result is about something else entirely.",
});
