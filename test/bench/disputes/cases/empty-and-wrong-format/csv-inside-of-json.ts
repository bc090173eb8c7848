import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Table extraction from PDFs",
  category: "data",
  request: { pdf: "https://files.example/report.pdf", page: 4 },
  criteria: {
    schema: { type: "object", required: ["rows"], properties: { rows: { type: "array", items: { type: "array" } } } },
  },
  payload: { rows: "year;tons\n2024;118\n2025;131" },
  reason: "CSV text instead of rows.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The values are right and the type isn't, which the schema fixed.",
});
