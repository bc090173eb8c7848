import { facts } from "../../dispute-case.ts";

export default facts({
  disputeAfterSeconds: 10,
  handover: "late",
  title: "Shipping quotes",
  category: "trading",
  request: { from: "Bremen", to: "Oslo", kg: 40 },
  criteria: { schema: { type: "object", required: ["price"], properties: { price: { type: "number" } } } },
  payload: { price: 118.5 },
  reason: "The escrow says delivered, and there is nothing.",
  expected: "Split",
  decidedBy: "facts",
  why: "Nothing was there when the buyer disputed, ten seconds after the delivery on chain, so the payload counts as late: it is right, but late.",
});
