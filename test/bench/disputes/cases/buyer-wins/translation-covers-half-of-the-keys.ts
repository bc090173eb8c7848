import { facts } from "../../dispute-case.ts";

export default facts({
  title: "App strings from English to Spanish",
  description: "Send a flat JSON object of interface strings, get the same keys back in Latin American Spanish.",
  category: "translation",
  request: { strings: { save: "Save", cancel: "Cancel", undo: "Undo", signOut: "Sign out" } },
  criteria: {
    schema: {
      type: "object",
      required: ["strings"],
      properties: { strings: { type: "object", required: ["save", "cancel", "undo", "signOut"] } },
    },
  },
  payload: { strings: { save: "Guardar", cancel: "Cancelar" } },
  reason: "Two of the four keys are missing, our build fails on `undo` and `signOut`.",
  evidence: [
    {
      by: "seller",
      type: "communication",
      description: "The other two are trivial, the buyer can add them in a minute.",
    },
  ],
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The schema requires four keys and two are missing. All criteria bind, however small the rest of the work is.",
});
