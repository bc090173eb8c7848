import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Logo taglines, ten a request",
  category: "marketing",
  request: { brand: "Kestrel Bikes", values: ["light", "repairable"] },
  payload: { message: "Sorry, our generation pipeline is overloaded at the moment. Please order again tomorrow." },
  reason: "There is not one tagline in this.",
  expected: "BuyerRefund",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "An apology isn't ten taglines. There are no criteria, so a judge has to read it.",
});
