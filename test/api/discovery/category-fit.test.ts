import { assert } from "chai";

import { CHILD_SLUGS } from "../../../api/features/categories/taxonomy.ts";
import { searchTextOf } from "../../../api/features/listings/listing.ts";
import { createCategoryFit } from "../../../api/features/discovery/category-fit.ts";
import type { CategoryFit } from "../../../api/features/discovery/category-fit.ts";
import { CATEGORY_TOPICS } from "../../../api/features/discovery/category-topics.ts";
import { createThreadEncoder } from "../../../api/search/embedding/encoder.ts";
import type { SentenceEncoder } from "../../../api/search/embedding/encoder.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { RELEVANCE_CASES } from "../../fixtures/relevance.ts";

const log = createLogger({ level: "silent", name: "test" });
const COOKBOOK = {
  title: "Family recipes collected into a cookbook",
  description: "Send photographs of handwritten cards. I type, test conversions and lay out a printable book.",
};

describe("the category of a listing", () => {
  let encoder: SentenceEncoder;
  let fitOf: CategoryFit;
  before(async () => {
    encoder = createThreadEncoder(log);
    fitOf = await createCategoryFit(encoder, log)();
  });
  after(() => encoder.close());

  const fit = async (text: Parameters<typeof searchTextOf>[0]) =>
    fitOf(text.category, (await encoder.encode(searchTextOf(text))).vector);

  it("has a topic, except for `other`", () => {
    assert.sameMembers([...Object.keys(CATEGORY_TOPICS), "other"], [...CHILD_SLUGS]);
  });

  it("fits most listings that stand where they belong", async () => {
    const fits = await Promise.all(RELEVANCE_CASES.map(fit));
    const inFull = fits.filter((value) => value === 1).length;
    console.log(`${inFull} of ${fits.length} listings fit in full; least ${Math.min(...fits).toFixed(2)}`);
    assert.isAtLeast(inFull, fits.length * 0.7);
  });

  it("costs a misfiled listing up to a fifth", async () => {
    for (const category of ["security_auditing", "trading", "hr_talent"]) {
      const misfiled = await fit({ ...COOKBOOK, category });
      assert.isAtLeast(misfiled, 0.8, category);
      assert.isBelow(misfiled, 0.95, category);
    }
  });

  it("is 1 in `other` and without a vector", async () => {
    assert.strictEqual(await fit({ ...COOKBOOK, category: "other" }), 1);
    assert.strictEqual(fitOf("security_auditing", null), 1);
  });

  it("is 1 while the encoder fails, and is read again at the next search", async () => {
    let isDown = true;
    const load = createCategoryFit(
      { encode: (text) => (isDown ? Promise.reject(new Error("down")) : encoder.encode(text)) },
      log,
    );
    const { vector } = await encoder.encode(searchTextOf({ ...COOKBOOK, category: "security_auditing" }));
    assert.strictEqual((await load())("security_auditing", vector), 1);
    isDown = false;
    assert.isBelow((await load())("security_auditing", vector), 0.95);
  });
});
