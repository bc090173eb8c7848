import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Etiket çevirisi",
  category: "translation",
  request: { etiketler: ["Kaydet", "Sil"], to: "en" },
  criteria: {
    schema: {
      type: "object",
      required: ["labels"],
      properties: { labels: { type: "array", minItems: 2, maxItems: 2 } },
    },
  },
  payload: { labels: ["Save", "Delete"] },
  reason: "İki kelime için çok pahalı.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "The price was known at checkout.",
});
