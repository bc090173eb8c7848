import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Product feed validation",
  category: "data",
  request: { feed: "https://shop.example/feed.json" },
  criteria: {
    checks: ["cel: result.valid == true"],
    schema: { type: "object", properties: { valid: { $ref: "#/$defs/flag" } }, $defs: { flag: { type: "boolean" } } },
  },
  payload: { valid: true, items: 212 },
  reason: "The reference in the schema must be read from our server, where it changed yesterday.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "References point into the schema itself. What a server says later isn't agreed.",
});
