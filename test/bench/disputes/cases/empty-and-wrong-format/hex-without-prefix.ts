import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Calldata encoding",
  category: "engineering",
  request: { function: "transfer(address,uint256)" },
  criteria: { checks: ["cel: result.calldata.matches('^0x[0-9a-f]{136}$')"] },
  payload: { calldata: `a9059cbb${"0".repeat(128)}` },
  reason: "The 0x is missing, our signer rejects it.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The pattern includes the prefix.",
});
