import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Subtitles in Portuguese",
  category: "translation",
  request: { lines: ["See you tomorrow."], to: "pt-BR" },
  criteria: { checks: ["cel: result.language == request.to"] },
  payload: { language: "es", lines: ["Hasta mañana."] },
  reason: "Isto é espanhol.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The seller labels the result itself as Spanish.",
});
