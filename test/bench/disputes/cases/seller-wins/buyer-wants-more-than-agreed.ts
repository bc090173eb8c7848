import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Unit tests for a module",
  category: "coding",
  request: { module: "slugify.ts", functions: ["slugify", "unslugify"] },
  criteria: {
    checks: [
      "cel: request.functions.all(name, result.tests.exists(test, test.covers == name))",
      "cel: size(result.tests) >= 4",
    ],
  },
  payload: {
    tests: [
      { covers: "slugify", name: "lower-cases", code: "assert.equal(slugify('A B'), 'a-b')" },
      { covers: "slugify", name: "drops punctuation", code: "assert.equal(slugify('a!b'), 'ab')" },
      { covers: "unslugify", name: "restores spaces", code: "assert.equal(unslugify('a-b'), 'a b')" },
      { covers: "unslugify", name: "keeps single words", code: "assert.equal(unslugify('a'), 'a')" },
    ],
  },
  reason: "There are no property-based tests and no coverage report.",
  evidence: [
    { by: "buyer", type: "other", description: "Good engineers deliver a coverage report without being asked." },
  ],
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "Neither was agreed on. Four tests for both functions were, and there are four.",
});
