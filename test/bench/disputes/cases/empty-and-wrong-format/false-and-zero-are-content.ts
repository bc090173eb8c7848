import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Is this wallet a contract",
  category: "onchain_intelligence",
  request: { address: "0x00000000000000000000000000000000000000aa" },
  criteria: {
    schema: {
      type: "object",
      required: ["isContract", "balance"],
      properties: { isContract: { type: "boolean" }, balance: { type: "number" } },
    },
  },
  payload: { isContract: false, balance: 0 },
  reason: "Zero and false: that's an empty answer.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "False and zero are values, and they are what was asked for.",
});
