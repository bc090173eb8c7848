import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Podcast transcript with optional timestamps",
  category: "summarization",
  request: { episode: 12 },
  criteria: {
    schema: {
      type: "object",
      required: ["lines"],
      properties: { lines: { type: "array", minItems: 2 }, timestamps: { type: "array" } },
    },
  },
  payload: { lines: ["Host: Welcome back.", "Guest: Thanks for having me."] },
  reason: "Timestamps are missing.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "The schema names timestamps without requiring them.",
});
