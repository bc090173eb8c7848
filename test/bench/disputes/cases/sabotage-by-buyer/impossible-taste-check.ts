import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Names for a tea brand",
  category: "marketing",
  request: { count: 2 },
  criteria: { checks: ["The buyer's chief executive loves the names."] },
  payload: { names: ["Slow Kettle", "Leaf and Ember"] },
  reason: "He doesn't.",
  expected: "Split",
  decidedBy: "judgement",
  why: "Nobody can verify the check: a model should say unclear, and the embedded judge does.",
});
