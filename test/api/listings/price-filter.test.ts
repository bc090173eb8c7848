import BigNumber from "bignumber.js";
import { assert } from "chai";

import { CURRENCIES, MAINNET } from "../../../api/config/constants.ts";
import { priceRanges } from "../../../api/features/listings/price-filter.ts";
import { assertError, listingBody, readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { doorTo } from "../../fixtures/outage.ts";
import type { Door } from "../../fixtures/outage.ts";
import { until } from "../../fixtures/until.ts";

const at = (usd: string) => () => Promise.resolve(new BigNumber(usd));

describe("bounds of a price in US dollars", () => {
  it("[D23] become one range for dollars and one for ether; POL has none", async () => {
    assert.deepEqual(await priceRanges({ minPrice: 5, maxPrice: 5_000 }, CURRENCIES, at("2500")), [
      { currencies: ["USDC", "USD"], min: "5", max: "5000" },
      { currencies: ["ETH"], min: "0.002", max: "2" },
    ]);
    assert.deepEqual(await priceRanges({ minPrice: 5 }, ["POL"], at("2500")), []);
    assert.isUndefined(await priceRanges({}, CURRENCIES, at("2500")));
  });

  it("[D23] are exact in ether: rounded inwards, so that rounding changes no match within 18 decimals", async () => {
    const [range] = (await priceRanges({ minPrice: 1, maxPrice: 1 }, ["ETH"], at("3000"))) ?? [];
    // A dollar isn't an ether price with 18 decimals.
    assert.isUndefined(range);
    const [wide] = (await priceRanges({ minPrice: 1, maxPrice: 2 }, ["ETH"], at("3000"))) ?? [];
    assert.deepEqual(wide, { currencies: ["ETH"], min: "0.000333333333333334", max: "0.000666666666666666" });
  });

  it("[D23] that no price can reach match nothing, and huge ones are capped at the maximum price", async () => {
    assert.deepEqual(await priceRanges({ minPrice: 1e20 }, CURRENCIES, at("2500")), []);
    assert.deepEqual(await priceRanges({ maxPrice: 1e300 }, ["ETH"], at("0.00000001")), [
      { currencies: ["ETH"], min: "0", max: "1000000000" },
    ]);
  });
});

describe("price filters", () => {
  let api: TestApi;
  let seller: TestAgent;
  let door: Door;
  let shiftMs = 0;
  /** Ids of listings that cost about 100 US dollars, by currency. */
  const ids: Record<string, string> = {};

  before(async () => {
    const { networks } = await readStack();
    door = await doorTo(networks.base.rpcUrl);
    api = await startTestApi({
      search: true,
      env: { rpcUrls: { "base-sepolia": networks["base-sepolia"].rpcUrl, base: door.url } },
      clock: { now: () => new Date(Date.now() + shiftMs) },
    });
    seller = await api.registerAgent();
    const chain = api.container.chains[MAINNET];
    const weth = chain.token("WETH");
    assert.isDefined(weth);
    const { answer, decimals } = await chain.price(weth);
    const ether = new BigNumber(100).div(new BigNumber(answer.toString()).shiftedBy(-decimals));
    const prices = { USDC: 100, USD: 100.5, ETH: Number(ether.toPrecision(12)), POL: 100 };
    for (const [currency, price] of Object.entries(prices)) {
      const body = listingBody({ title: "Saddle fitting", description: "Fits saddles to horses.", currency, price });
      const answered = await api.request("POST", "/api/v1/services", { key: seller.apiKey, body });
      assert.strictEqual(answered.status, 201, answered.text);
      ids[currency] = answered.body.data.id as string;
    }
    await until("everything is found", async () => (await discovered({})).length === 4);
  });
  after(async () => {
    await api.close();
    await door.close();
  });

  const list = (query: string) => api.request("GET", `/api/v1/services?${query}`, { key: seller.apiKey });
  const discover = (filters: object) =>
    api.request("POST", "/api/v1/discover", { body: { query: "saddle for a horse", filters } });
  const currencies = (found: readonly string[]) =>
    Object.keys(ids)
      .filter((currency) => found.includes(ids[currency] ?? ""))
      .sort();
  async function discovered(filters: object): Promise<string[]> {
    const { status, body, text } = await discover(filters);
    assert.strictEqual(status, 200, text);
    return currencies(body.map(({ serviceId }: { serviceId: string }) => serviceId));
  }
  async function listed(query: string): Promise<string[]> {
    const { status, body, text } = await list(query);
    assert.strictEqual(status, 200, text);
    return currencies(body.data.map(({ id }: { id: string }) => id));
  }

  it("[D23] [S4.r12.4] compare US dollars in lists, searches and discovery, and POL matches none", async () => {
    for (const search of ["", "&q=saddle"]) {
      assert.deepEqual(await listed(`minPrice=99${search}`), ["ETH", "USD", "USDC"]);
      assert.deepEqual(await listed(`maxPrice=101${search}`), ["ETH", "USD", "USDC"]);
      assert.deepEqual(await listed(`minPrice=99&maxPrice=100.01${search}`), ["ETH", "USDC"]);
      assert.deepEqual(await listed(`maxPrice=1000&currency=POL${search}`), []);
      assert.deepEqual(await listed(`maxPrice=1${search}`), []);
      assert.deepEqual(await listed(search), ["ETH", "POL", "USD", "USDC"]);
    }
    assert.deepEqual(await discovered({ maxPrice: 100.01 }), ["ETH", "USDC"]);
    assert.deepEqual(await discovered({ maxPrice: 99 }), []);
  });

  it("[D23] are refused with 503 while ether could match and has no price from the last minute", async () => {
    door.isOpen = false;
    try {
      assert.deepEqual(await discovered({ maxPrice: 100.01 }), ["ETH", "USDC"]);
      shiftMs += 61_000;
      for (const answer of [
        await list("minPrice=1"),
        await list("q=saddle&maxPrice=200"),
        await discover({ maxPrice: 200 }),
      ]) {
        assertError(answer, 503, "chain_unavailable");
        assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/);
      }
      assert.deepEqual(await listed("minPrice=1&currency=USDC"), ["USDC"]);
      assert.deepEqual(await listed("sort=price_asc"), ["ETH", "POL", "USD", "USDC"]);
    } finally {
      door.isOpen = true;
    }
    assert.deepEqual(await discovered({ maxPrice: 100.01 }), ["ETH", "USDC"]);
  });
});
