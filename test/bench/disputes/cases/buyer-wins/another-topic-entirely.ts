import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Market briefs",
  description: "One page about the market that you name: size, main players, recent deals.",
  category: "research",
  request: { market: "grid-scale battery storage in Texas" },
  payload: {
    brief:
      "The craft beer segment in Oregon counts some 300 breweries. Growth has slowed since 2022, taprooms carry most of the margin, and two regional groups have merged.",
  },
  reason: "We ordered a brief about battery storage in Texas and got one about beer in Oregon.",
  expected: "BuyerRefund",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "The result has nothing to do with the request, which is the only measure without criteria.",
});
