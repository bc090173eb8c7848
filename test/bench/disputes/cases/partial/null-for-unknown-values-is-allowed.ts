import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Company register lookup",
  category: "legal_compliance",
  request: { companies: ["Oak Ltd", "Elm Ltd"] },
  criteria: {
    schema: {
      type: "object",
      required: ["rows"],
      properties: {
        rows: {
          type: "array",
          minItems: 2,
          items: { type: "object", required: ["name", "vat"], properties: { vat: { type: ["string", "null"] } } },
        },
      },
    },
  },
  payload: {
    rows: [
      { name: "Oak Ltd", vat: "GB123456789" },
      { name: "Elm Ltd", vat: null },
    ],
  },
  reason: "Half of the VAT numbers are missing.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "The schema allows null where a number couldn't be found.",
});
