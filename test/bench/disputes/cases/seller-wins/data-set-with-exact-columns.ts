import { facts } from "../../dispute-case.ts";

export default facts({
  title: "CSV cleaning",
  category: "data",
  request: {
    rows: [
      { Name: " ana ", AGE: "31" },
      { Name: "BO", AGE: "n/a" },
    ],
  },
  criteria: {
    schema: {
      type: "object",
      required: ["rows"],
      properties: {
        rows: {
          type: "array",
          items: {
            type: "object",
            additionalProperties: false,
            required: ["name", "age"],
            properties: { name: { type: "string", pattern: "^[A-Z][a-z]+$" }, age: { type: ["integer", "null"] } },
          },
        },
      },
    },
    checks: ["cel: size(result.rows) == size(request.rows)"],
  },
  payload: {
    rows: [
      { name: "Ana", age: 31 },
      { name: "Bo", age: null },
    ],
  },
  reason: "Row two has no age. We expected you to look it up.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "The schema allows null for an age that the input doesn't have.",
});
