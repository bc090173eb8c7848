import { assert } from "chai";

import { assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { randomMarket, storeMarket } from "../../fixtures/market.ts";
import { seededRandom } from "../../fixtures/random.ts";

const PATH = "/api/v1/market/figures";

describe("GET /api/v1/market/figures", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ timings: { publicAnswerMs: 0 } });
  });
  after(() => api.close());

  it("answers without a key what an agent reads, for each window", async () => {
    const { apiKey: key } = await api.registerAgent();
    const block = await api.container.chains["base-sepolia"].head();
    await storeMarket(api, "base-sepolia", randomMarket(seededRandom(), block.timestamp, 300), block.number);
    assert.deepEqual((await api.request("GET", PATH)).body.data, { window: "7d", networks: [] });
    assert.strictEqual(await api.container.features.analytics.market["base-sepolia"].step(), "computed");
    for (const window of ["24h", "7d", "30d", "all"]) {
      const { body } = await api.request("GET", `${PATH}?window=${window}`);
      const asAgent = await api.request("GET", `/api/v1/analytics/market?window=${window}`, { key });
      assert.deepEqual(body, asAgent.body);
      assert.strictEqual(body.data.networks[0].indexedBlock, block.number);
    }
    assert.strictEqual((await api.request("GET", PATH)).body.data.window, "7d");
  });

  it("refuses other windows by name", async () => {
    for (const query of ["window=1y", "window=", "network=base"]) {
      assertInvalid(await api.request("GET", `${PATH}?${query}`), `query.${query.split("=")[0] ?? ""}`);
    }
  });
});
