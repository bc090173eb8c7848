import { assert } from "chai";

import { meaningOf, textOfValue } from "../../../api/features/memory/index/search-text.ts";

describe("the texts of an entry that search reads", () => {
  it("a value's words are its strings, numbers and field names, in order, at most 2,000 characters", () => {
    assert.strictEqual(
      textOfValue({ fee: 2.5, notes: ["late", { by: "a day" }], paid: true, by: null }),
      "fee 2.5 notes late by a day paid by",
    );
    assert.strictEqual(textOfValue("plain"), "plain");
    assert.strictEqual(textOfValue(null), "");
    assert.lengthOf(textOfValue(["x".repeat(1_500), "y".repeat(1_500)]), 2_000);
  });

  it("the words of the key are embedded before those of the value, without dates and ids", () => {
    assert.strictEqual(meaningOf("incidents/orrery/2026-02-11", "no power"), "incidents orrery no power");
    assert.strictEqual(meaningOf("réglages_d'été:v2", { hot: 30 }), "réglages d été hot 30");
    assert.strictEqual(meaningOf("7f3a9c12-4b1e", "no power"), "no power");
  });

  it("a key without words is embedded as it is if the value has none either", () => {
    assert.strictEqual(meaningOf("2026-02-11", null), "2026-02-11");
    assert.strictEqual(meaningOf("tax/2026", null), "tax");
  });
});
