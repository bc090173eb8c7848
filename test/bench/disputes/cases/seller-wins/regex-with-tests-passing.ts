import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Regular expressions written and tested",
  category: "coding",
  request: { match: ["2026-01-31", "1999-12-01"], reject: ["31.01.2026", "2026-1-1"] },
  criteria: {
    checks: [
      "cel: request.match.all(text, text.matches(result.pattern))",
      "cel: request.reject.all(text, !text.matches(result.pattern))",
    ],
  },
  payload: { pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", flavour: "RE2" },
  reason: "It accepts 2026-99-99.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "The agreed examples are matched and rejected as ordered. 2026-99-99 was in neither list.",
});
