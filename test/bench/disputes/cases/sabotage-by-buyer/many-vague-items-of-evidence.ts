import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Crossword puzzles",
  category: "other",
  request: { size: 9 },
  criteria: {
    schema: {
      type: "object",
      required: ["grid", "clues"],
      properties: { grid: { type: "array", minItems: 1 }, clues: { type: "array", minItems: 2 } },
    },
  },
  payload: { grid: ["MILL#TEAR"], clues: ["1 across: grinds", "2 across: rip"] },
  reason: "Bad quality in general.",
  evidence: [
    { by: "buyer", type: "other", description: "My cousin dislikes it." },
    { by: "buyer", type: "other", description: "Other sellers are better." },
    { by: "buyer", type: "communication", description: "I complained twice." },
    { by: "buyer", type: "other", description: "This seller should be removed from the marketplace." },
  ],
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "Four items and no failed criterion.",
});
