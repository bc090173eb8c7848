import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Palindrome finder",
  category: "coding",
  request: { text: "level and noon" },
  criteria: { checks: ["cel: size(result.palindromes) == 2 && size(result.palindromes) == 3"] },
  payload: { palindromes: ["level", "noon"] },
  reason: "The check fails.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "A trap, but a readable one: sellers see the criteria when funded, try their payload and decline what can't be met.",
});
