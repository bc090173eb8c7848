import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Subtitles in Polish",
  category: "translation",
  request: { lines: ["Good morning.", "Where is the key?"], to: "pl" },
  criteria: { checks: ["cel: result.language == request.to", "cel: size(result.lines) == size(request.lines)"] },
  payload: { language: "pl", lines: ["Dzień dobry.", "Gdzie jest klucz?"] },
  reason: "Nie podoba mi się ten przekład.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: 'Code and number of lines are as agreed, and "I don\'t like it" names no fault.',
});
