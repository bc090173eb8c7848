// What discovery refuses.
import { assert } from "chai";

import { createThreadEncoder } from "../../../api/search/embedding/encoder.ts";
import { ApiError } from "../../../api/http/errors.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestApi } from "../../fixtures/api.ts";
import { NOTHING_FOUND, UNASKED_DATABASE } from "../../fixtures/listing-table.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";

describe("errors of discovery", () => {
  let api: TestApi;

  before(async () => {
    api = await startTestApi({ search: true });
  });
  after(() => api.close());

  const discover = (body: unknown): Promise<Answer> => api.request("POST", "/api/v1/discover", { body });

  it("[S4.r12.1] requires a query of 1 to 1000 characters", async () => {
    for (const query of [undefined, null, 7, "", "   ", "x".repeat(1_001), ["a"], { $gt: "" }]) {
      assertInvalid(await discover({ query }), "body.query");
    }
    assert.strictEqual((await discover({ query: "bookkeeping ".repeat(83) })).status, 200);
  });

  it("refuses filters with a wrong type or range, and unknown ones", async () => {
    const wrong: [unknown, string][] = [
      ["cheap", "body.filters"],
      [null, "body.filters"],
      [{ minTrustScore: "0.5" }, "body.filters.minTrustScore"],
      [{ minTrustScore: 1.01 }, "body.filters.minTrustScore"],
      [{ minTrustScore: -0.01 }, "body.filters.minTrustScore"],
      [{ maxPrice: "5" }, "body.filters.maxPrice"],
      [{ maxPrice: -1 }, "body.filters.maxPrice"],
      [{ category: "no-such" }, "body.filters.category"],
      [{ network: "ethereum" }, "body.filters.network"],
      [{ networks: "base" }, "body.filters.networks"],
    ];
    for (const [filters, path] of wrong) assertInvalid(await discover({ query: "x", filters }), path);
    for (const limit of [0, 51, -1, 2.5, "5", null]) {
      assertInvalid(await discover({ query: "x", limit }), "body.limit");
    }
    assertInvalid(await discover({ query: "x", page: 2 }), "body.page");
    for (const explain of ["true", 1, null]) assertInvalid(await discover({ query: "x", explain }), "body.explain");
  });

  it("a search is refused with 503 while the encoder is unavailable", async () => {
    const { createDiscoverService } = await import("../../../api/features/discovery/service.ts");
    const encoder = createThreadEncoder(createLogger({ level: "silent", name: "test" }));
    await encoder.close();
    const { standings } = api.container.services;
    const away = createDiscoverService({
      encoder,
      loadCategoryFit: () => Promise.resolve(() => 1),
      index: { find: (_query, _filter, _limit, work) => work(NOTHING_FOUND) },
      stored: { active: () => Promise.resolve(new Map()) },
      database: UNASKED_DATABASE,
      standings,
      etherPrice: () => Promise.reject(new Error("no price is needed")),
      log: api.container.log,
    });
    const error = await rejectionOf(away.discover("anything", {}, 1), ApiError);
    assert.deepEqual([error.code, error.status], ["search_unavailable", 503]);
  });
});
