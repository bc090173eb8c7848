import { assert } from "chai";

import { GuideSearch, wordsOf } from "../../../api/features/docs/guide-search.ts";
import { Guides } from "../../../api/features/docs/guides.ts";

const section = (heading: string, text: string, title = "Deals") => ({
  name: title.toLowerCase(),
  title,
  heading,
  id: heading.toLowerCase(),
  text,
});
const SECTIONS = [
  section("Deals", "A deal is one escrow. ".repeat(20)),
  section("Delivery", "The seller calls submitDelivery within the deadline."),
  section("Deadline", "It ends the delivery. A missed deadline refunds the buyer."),
  section("Errors", "EscrowNotFound: the id is unknown.", "Operations"),
];

describe("the search of the guides", () => {
  const search = new GuideSearch(SECTIONS);
  const found = (question: string) => search.find(question).map(({ heading }) => heading);

  it("finds sections with all words, also as parts of names, those with the words in headings first", () => {
    assert.deepEqual(found("deadline"), ["Deadline", "Delivery"]);
    assert.deepEqual(found("DELIVERY deadline"), ["Delivery", "Deadline"]);
    assert.deepEqual(found("submitdel"), ["Delivery"]);
    assert.deepEqual(found("operations unknown"), ["Errors"]);
    assert.deepEqual(found("deadline unknown"), []);
  });

  it("shows the text around the first word, cut between words", () => {
    const long = new GuideSearch([section("Long", `${"before ".repeat(50)}needle ${"after ".repeat(50)}`.trim())]);
    const [{ excerpt } = { excerpt: "" }] = long.find("needle");
    assert.match(excerpt, /^… (before )+needle (after )+…$/);
    assert.isAtMost(excerpt.length, 210);
    assert.strictEqual(search.find("unknown")[0]?.excerpt, "EscrowNotFound: the id is unknown.");
  });

  it("takes at most eight words of the first hundred characters, and finds nothing without a word", () => {
    assert.deepEqual(wordsOf("  A, b-c! \u202eD_e "), ["a", "b", "c", "d_e"]);
    assert.lengthOf(wordsOf("a b c d e f g h i j"), 8);
    assert.deepEqual(wordsOf(`${"x".repeat(100)} y`), ["x".repeat(100)]);
    for (const question of ["", " ", "?!", "<>", "\u200b"]) assert.deepEqual(search.find(question), []);
    const many = new GuideSearch(Array.from({ length: 100 }, (_, n) => section(`Part ${n}`, "deal")));
    assert.lengthOf(many.find("deal"), 30);
  });

  it("knows every guide, its tables and its code", () => {
    const guides = new Guides({ root: "docs" });
    assert.strictEqual(guides.find("webhooks registering")[0]?.id, "registering");
    assert.include(
      guides.find("EscrowNotFound").map(({ name }) => name),
      "operations-accept",
    );
    const summaries = guides.list().map(({ name }) => guides.read(name)?.summary ?? "");
    assert.isAbove(summaries.filter((text) => text.length > 20).length, 30);
  });
});
