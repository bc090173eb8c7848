import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Domain WHOIS history",
  category: "research",
  request: { domain: "mill.example" },
  criteria: {
    schema: { type: "object", required: ["owners"], properties: { owners: { type: "array", minItems: 1 } } },
  },
  payload: { owners: [{ name: "Mill Trust", since: "2011-04-02" }] },
  proof: "differs",
  reason: "The proof is forged, so everything is.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "Another commitment is allowed. The payload in the record is the one that counts, and it passes.",
});
