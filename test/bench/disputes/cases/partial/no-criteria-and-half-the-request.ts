import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Names for two kittens",
  category: "other",
  request: { kittens: ["grey, shy", "orange, loud"] },
  payload: { names: ["Pebble"] },
  reason: "There are two kittens.",
  expected: "BuyerRefund",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "The request asks for two names. Without a model the burden of proof pays the seller, which this bench counts as wrong.",
});
