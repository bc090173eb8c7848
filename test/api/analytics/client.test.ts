// The client's methods for analytics, against the service.
import { assert } from "chai";

import { ApiError, Marketplace } from "../../../sdk/src/index.ts";
import type { Agent } from "../../../sdk/src/index.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { releasedDeal, storeMarket } from "../../fixtures/market.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";

describe("the client's analytics", () => {
  let api: TestApi;
  let analytics: Agent["analytics"];
  before(async () => {
    api = await startTestApi();
    const { apiKey } = await api.registerAgent();
    ({ analytics } = new Marketplace({ url: api.url }).agent({ apiKey }));
  });
  after(() => api.close());

  it("[S4.r33] reads hourly series", async () => {
    const own = await analytics.fractal({ metric: "escrows", scope: "me", network: "base", length: 16 });
    assert.deepInclude(own, { metric: "escrows", scope: "me", network: "base", length: 16, reason: "constant" });
    assert.deepEqual(own.series, Array(16).fill(0));
    const all = await analytics.fractal();
    assert.deepEqual([all.metric, all.scope, all.length], ["volume", "all", 500]);
  });

  it("[S4.r33.1] has a series analysed", async () => {
    const series = Array.from({ length: 64 }, (_, index) => (index * 37) % 11);
    const { hurst, fractalDimension, reason, ...rest } = await analytics.analyse(series);
    assert.deepInclude(rest, { series, length: 64 });
    assert.isNumber(hurst);
    assert.isNumber(fractalDimension);
    assert.isNull(reason);
    assert.strictEqual((await rejectionOf(analytics.analyse([1, 2]), ApiError)).code, "validation_error");
  });

  it("reads the market's figures", async () => {
    assert.deepEqual(await analytics.market(), { window: "7d", networks: [] });
    const { number, timestamp: end } = await api.container.chains.base.head();
    const deals = Array.from({ length: 5 }, (_, buyer) => releasedDeal(end, { buyer, seller: 9 }));
    await storeMarket(api, "base", { deals }, number);
    assert.strictEqual(await api.container.features.analytics.market.base.step(), "computed");
    const { window, networks } = await analytics.market({ window: "24h", network: "base" });
    assert.strictEqual(window, "24h");
    assert.deepEqual(
      networks.map(({ network, indexedBlock, total }) => [network, indexedBlock, total.volumeUsd]),
      [["base", number, "12.5"]],
    );
    assert.deepEqual(await analytics.market({ network: "base-sepolia" }), { window: "7d", networks: [] });
  });
});
