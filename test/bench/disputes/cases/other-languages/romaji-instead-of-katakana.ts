import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Product names in Katakana",
  category: "translation",
  request: { names: ["Blue Heron"] },
  criteria: { checks: ["cel: result.names.all(n, n.matches('^[ァ-ヶー・]+$'))"] },
  payload: { names: ["buruu heron"] },
  reason: "ローマ字ではなくカタカナでお願いしました。",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "Latin letters don't match the pattern.",
});
