import { assert } from "chai";

import type { ExplanationParts } from "../../../api/features/listings/explanation.ts";
import { partAdviceOf, presentExplanation } from "../../../api/features/listings/reasons.ts";

/** Of a listing that nothing lowers, by a seller with all the trust there is. */
const FULL: ExplanationParts = {
  score: 0.6,
  relevance: 0.46,
  meaning: 0.46,
  words: 0,
  completeness: 1,
  prose: 1,
  categoryFit: 1,
  trust: 1.3,
  counterpartyWeight: 1,
  lateDeclineWeight: 1,
  earlyDeclineWeight: 1,
  priceFit: 1,
  variety: 1,
};
const SHARED_WORDS = "The words that it shares with the query add 0.03.";
const ALWAYS = ["Its closeness in meaning to the query counts 0.46, of at most 1.", "Trust in the seller adds 30%."];

describe("an explanation in words", () => {
  const reasonsFor = (change: Partial<ExplanationParts>) => presentExplanation({ ...FULL, ...change }).reasons;

  it("names nothing that has moved nothing", () => {
    assert.deepEqual(reasonsFor({}), ALWAYS);
    assert.deepEqual(reasonsFor({ prose: 0.996, priceFit: 1.004 }), ALWAYS);
    assert.deepEqual(partAdviceOf(FULL), []);
  });

  const sentences: [Partial<ExplanationParts>, string][] = [
    [{ words: 0.03 }, SHARED_WORDS],
    [{ meaning: 0, words: 0.03 }, "Its meaning adds nothing: only its words answer the query."],
    [{ meaning: 0 }, "Neither its meaning nor its words answer the query."],
    [
      { completeness: 2 / 3 },
      "The description adds little to the title and the category, which lowers the score by 33%.",
    ],
    [{ prose: 0.5 }, "Much of the text is a list of words, which lowers the score by 50%."],
    [{ categoryFit: 0.8 }, "The text doesn't fit the category well, which lowers the score by 20%."],
    [{ trust: 1 }, "The seller has no record of deals that counts yet, so trust adds nothing."],
    [{ counterpartyWeight: 0.4 }, "The seller deals with few partners, or mostly with one, which lowers trust by 60%."],
    [{ lateDeclineWeight: 0.75 }, "The seller has refunded orders after the deadline, which lowers trust by 25%."],
    [{ earlyDeclineWeight: 0.9 }, "The seller has declined orders, which lowers trust by 10%."],
    [{ priceFit: 1.03 }, "The price is below the query's maximum, which adds 3%."],
    [{ variety: 0.25 }, "The seller has a better listing that offers nearly the same, which lowers the score by 75%."],
  ];
  for (const [change, sentence] of sentences) {
    it(`says "${sentence}"`, () => {
      const said = reasonsFor(change);
      assert.include(said, sentence);
      const others = said.filter((reason) => ![...ALWAYS, sentence].includes(reason));
      assert.deepEqual(others, change.meaning === 0 && change.words === 0.03 ? [SHARED_WORDS] : []);
    });
  }

  it("advises on each part that a seller can change, once", () => {
    const lowered = {
      completeness: 0.5,
      prose: 0.5,
      categoryFit: 0.8,
      trust: 1,
      counterpartyWeight: 0.1,
      lateDeclineWeight: 0.5,
      earlyDeclineWeight: 0.5,
      variety: 0.5,
    };
    const advice = partAdviceOf({ ...FULL, ...lowered, meaning: 0 });
    assert.lengthOf(advice, 7);
    assert.lengthOf([...new Set(advice)], 7);
    assert.deepEqual(partAdviceOf({ ...FULL, meaning: 0, words: 0.02, priceFit: 1.05 }), []);
  });

  it("says nothing of declines while no deal has given its seller trust", () => {
    const said = reasonsFor({ trust: 1, counterpartyWeight: 0, lateDeclineWeight: 0, earlyDeclineWeight: 0.5 });
    assert.deepEqual(said.slice(1), ["The seller has no record of deals that counts yet, so trust adds nothing."]);
  });
});
