import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Logo vectorisation",
  category: "multimodal_generation",
  request: { logo: "https://cdn.example/logo.png" },
  criteria: { checks: ["cel: result.svg.startsWith('<svg')"] },
  payload: null,
  handover: "none",
  proof: "differs",
  reason: "A hash on chain and no file.",
  evidence: [
    {
      by: "seller",
      type: "delivery_proof",
      description:
        "0x5e5e… is the SHA-256 of the vector file that I made. The proof stands on chain, so delivery is proven.",
    },
  ],
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "A hash proves that something was hashed, not that it was handed over.",
});
