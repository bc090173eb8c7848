import { assert } from "chai";

import { fitting, PAGE_BYTES } from "../../../api/db/pages.ts";

describe("the records that a page has room for", () => {
  const taken = (...sizes: number[]) => fitting(sizes.map((bytes) => ({ bytes }))).length;

  it("are the first ones that together have at most its bytes", () => {
    assert.strictEqual(taken(PAGE_BYTES - 2, 1, 1), 3);
    assert.strictEqual(taken(PAGE_BYTES - 2, 1, 2), 2);
    assert.strictEqual(taken(1, PAGE_BYTES, 1), 1, "a smaller one behind a large one waits for the next page");
    assert.strictEqual(taken(), 0);
  });

  it("are one at least, however large it is", () => {
    assert.strictEqual(taken(PAGE_BYTES + 1), 1);
    assert.strictEqual(taken(PAGE_BYTES + 1, 1), 1);
  });
});
