import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Threat intel digest",
  category: "security_auditing",
  request: { sector: "water utilities" },
  payload: { digest: "Two campaigns against remote access gateways; patches of October close both." },
  handover: "after_dispute",
  proof: "differs",
  reason: "We had to dispute to see anything.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "It came after the dispute and isn't even what the seller committed to.",
});
