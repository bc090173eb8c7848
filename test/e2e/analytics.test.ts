// Moves the clock by hours, so it starts a stack of its own.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assert } from "chai";

import { findFreePorts } from "../../scripts/local/ports.ts";
import { startStack } from "../../scripts/local/stack.ts";
import type { Stack } from "../../scripts/local/stack.ts";
import { PORTS_PER_STACK } from "../../scripts/local/stack-ports.ts";
import { startTestApi } from "../fixtures/api.ts";
import type { TestAgent, TestApi } from "../fixtures/api.ts";
import { openChain } from "../fixtures/stack.ts";
import { until } from "../fixtures/until.ts";
import { Marketplace } from "../subgraph/support/marketplace.ts";

const HOUR_SECONDS = 3_600;

describe("hourly series of real deals", () => {
  let dir: string;
  let stack: Stack;
  let market: Marketplace;
  let api: TestApi;
  let seller: TestAgent;
  before(async () => {
    dir = mkdtempSync(join(tmpdir(), "marketplace-analytics-"));
    stack = await startStack({ dir, portBase: await findFreePorts(PORTS_PER_STACK), only: ["graph", "mongo"] });
    process.env["TEST_STACK"] = stack.factsPath;
    market = new Marketplace(stack.facts, "base");
    api = await startTestApi();
    seller = await api.registerAgent();
    await (await openChain("base")).endow(seller.account);
  });
  after(async () => {
    await api.close();
    await stack.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  async function nextHour(): Promise<void> {
    const now = await market.timeOf();
    await market.passTime(HOUR_SECONDS - (now % HOUR_SECONDS) + 1);
  }
  const read = async (query: string) => {
    const path = `/api/v1/analytics/fractal?network=base&length=4&${query}`;
    const { status, body, text } = await api.request("GET", path, { key: seller.apiKey });
    assert.strictEqual(status, 200, text);
    return body.data.series as number[];
  };

  it("[S4.r33] [D30] have each hour that has ended, those without deals included", async () => {
    const [buyer, other] = [await market.newParty(), await market.newParty()];
    await nextHour();
    await market.createReleased(buyer, seller.account, { amount: 5_000_000n });
    await market.createReleased(buyer, other, { amount: 3_000_001n });
    await nextHour();
    await nextHour();
    await market.createReleased(buyer, seller.account, { amount: 2_500_000n });
    await nextHour();
    // Belongs to an hour that hasn't ended.
    await market.createReleased(buyer, seller.account, { amount: 9_000_000n });
    const height = Number(await market.client.getBlockNumber());
    await until("it is indexed", async () => (await api.container.indexers.base.head()).number >= height);
    assert.deepEqual(await read("metric=volume&scope=all"), [0, 8.000001, 0, 2.5]);
    assert.deepEqual(await read("metric=volume&scope=me"), [0, 5, 0, 2.5]);
    assert.deepEqual(await read("metric=escrows&scope=all"), [0, 2, 0, 1]);
    assert.deepEqual(await read("metric=escrows&scope=me"), [0, 1, 0, 1]);
    assert.deepEqual(await read("metric=score&scope=all"), [0, 4, 0, 2]);
    assert.deepEqual(await read("metric=score&scope=me"), [0, 1, 0, 1]);
  });
});
