import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Sitemap generation",
  category: "infrastructure",
  request: { pages: 3 },
  criteria: { checks: ["cel: size(result.urls) == request.pages"] },
  payload: { urls: ["https://mill.example/"] },
  reason: null,
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The buyer needn't point at what code sees.",
});
