import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Invoice data extraction",
  category: "financial_ops",
  request: { invoice: "Rechnung 2026-118, Nordlicht GmbH, 3 x Wartung à 150,00 EUR, zzgl. 19 % USt." },
  criteria: {
    schema: {
      type: "object",
      required: ["number", "supplier", "net", "vat", "gross"],
      properties: { net: { const: 450 }, vat: { const: 85.5 }, gross: { const: 535.5 } },
    },
  },
  payload: { number: "2026-118", supplier: "Nordlicht GmbH", net: 450, vat: 85.5, gross: 535.5, currency: "EUR" },
  reason: "We found another vendor that is cheaper.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "The result matches the schema to the cent. A cheaper vendor is no fault of this one.",
});
