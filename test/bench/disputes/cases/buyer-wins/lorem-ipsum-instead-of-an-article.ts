import { facts } from "../../dispute-case.ts";

export default facts({
  title: "SEO articles",
  category: "marketing",
  request: { topic: "How heat pumps work in cold climates", words: 60 },
  criteria: { checks: ["The article explains how a heat pump works in cold weather."] },
  payload: {
    article:
      "Lorem ipsum dolor sit amet, consectetur adipiscing elit. Sed do eiusmod tempor incididunt ut labore et dolore magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea commodo consequat.",
  },
  reason: "Placeholder text.",
  expected: "BuyerRefund",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "Placeholder text explains nothing. The embedded judge knows English only and may say so.",
});
