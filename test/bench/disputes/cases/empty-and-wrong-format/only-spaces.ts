import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Obituary drafts",
  category: "other",
  request: { name: "Hanne Lund" },
  criteria: { checks: ["The text mentions her years as a lighthouse keeper."] },
  payload: { text: "   \n\t  ", title: "" },
  reason: "Blank.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "White space is no content.",
});
