// Real deals, so that contracts, subgraph and ranking together decide who comes first.
import { assert } from "chai";

import type { StackFacts } from "../../../scripts/local/facts.ts";
import { listingBody, readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { campaignSize } from "../../fixtures/nightly.ts";
import { openChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";
import { Marketplace } from "../../subgraph/support/marketplace.ts";

/** More than the honest seller's. */
const WASH_DEALS = campaignSize({
  unit: "deals of two wallets with each other",
  nightly: 100,
  eachPush: 30,
  variable: "WASH_DEALS",
});
const BUYERS = 15;
const TEXT = {
  title: "Quokka census",
  description: "Counts quokkas on camera pictures and reports them by island and night.",
};
const USDC = 1_000_000_000n;
/** Three hundred transactions one after the other, on a loaded machine. */
const DEALS_TIMEOUT_MS = 600_000;

interface Result {
  serviceId: string;
  discoveryScore: number;
  explanation: Record<string, number>;
}

describe("two wallets that deal with each other", () => {
  let api: TestApi;
  let marketplace: Marketplace;
  let honest: TestAgent;
  let washers: [TestAgent, TestAgent];
  let services: { honest: string; washed: string[] };

  before(async () => {
    api = await startTestApi({ runsLoops: true, search: true });
    // The same file: the API's tests need fewer of its facts.
    marketplace = new Marketplace((await readStack()) as unknown as StackFacts, "base-sepolia");
    [honest, ...washers] = [await api.registerAgent(), await api.registerAgent(), await api.registerAgent()];
    const chain = await openChain("base-sepolia");
    for (const { account } of [honest, ...washers]) await chain.endow(account, { usdc: USDC });
    for (const { account } of washers) await marketplace.allow(account);
    // Theirs are the newer ones, which come first among equals.
    services = { honest: await list(honest), washed: [await list(washers[0]), await list(washers[1])] };
  });
  after(() => api.close());

  async function list({ apiKey }: TestAgent): Promise<string> {
    const { status, body, text } = await api.request("POST", "/api/v1/services", {
      key: apiKey,
      body: listingBody(TEXT),
    });
    assert.strictEqual(status, 201, text);
    return body.data.id as string;
  }

  async function discover(): Promise<Result[]> {
    const body = { query: "quokka census", explain: true };
    return (await api.request("POST", "/api/v1/discover", { body })).body as Result[];
  }

  /** The words of rows that have just been written count a little differently until the index is tidied. */
  function areAlike(found: readonly Result[]): boolean {
    return new Set(found.map(({ explanation }) => explanation["relevance"])).size === 1;
  }

  async function wash(): Promise<void> {
    const [one, other] = washers;
    for (let deal = 0; deal < WASH_DEALS; deal += 1) {
      const [buyer, seller] = deal % 2 === 0 ? [one, other] : [other, one];
      await marketplace.createReleased(buyer.account, seller.account, { amount: 10_000n });
    }
  }

  async function sellToMany(): Promise<void> {
    for (let buyer = 0; buyer < BUYERS; buyer += 1) {
      await marketplace.createReleased(await marketplace.newParty(), honest.account, { amount: 1_000_000n });
    }
  }

  it("[D23] rank below a seller with 15 different buyers, however many deals they settle", async () => {
    const before = await until("all three are found", async () => {
      const found = await discover();
      return found.length === 3 && areAlike(found) && found;
    });
    assert.deepEqual(
      before.map(({ serviceId }) => serviceId),
      [...services.washed.toReversed(), services.honest],
    );

    await Promise.all([wash(), sellToMany()]);

    const scoreOf = new Map([
      [services.honest, BUYERS / 100],
      ...services.washed.map((id) => [id, WASH_DEALS / 100] as const),
    ]);
    const results = await until("the ranking has every settlement", async () => {
      const found = await discover();
      const haveScores = found.every(({ serviceId, discoveryScore }) => discoveryScore === scoreOf.get(serviceId));
      return areAlike(found) && haveScores && found;
    });
    const [first, ...others] = results;
    assert.ok(first !== undefined);
    assert.strictEqual(first.serviceId, services.honest);
    assert.sameMembers(
      others.map(({ serviceId }) => serviceId),
      services.washed,
    );
    const trustOf = ({ explanation }: Result) => explanation["trust"] ?? NaN;
    assert.closeTo(trustOf(first), 1 + 0.3 * (BUYERS / 100), 1e-9);
    for (const washed of others) assert.closeTo(trustOf(washed), 1 + 0.3 * (WASH_DEALS / 100 / 10) * (1 / 2), 1e-9);
  }).timeout(DEALS_TIMEOUT_MS);
});
