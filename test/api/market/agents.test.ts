// What anyone sees of a wallet: the chains' facts, and its own words only while it sells something.
import { assert } from "chai";

import { assertError, assertInvalid, readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { act, deliverDeal, fundedDeal, listService, openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { doorTo } from "../../fixtures/outage.ts";
import type { Door } from "../../fixtures/outage.ts";
import { openChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const PATH = "/api/v1/market/agents";

describe("GET /api/v1/market/agents/{wallet}", () => {
  let api: TestApi;
  let doors: Record<"base-sepolia" | "base", Door>;
  let market: Market;
  let escrowId: string;

  before(async () => {
    const { networks } = await readStack();
    doors = {
      "base-sepolia": await doorTo(networks["base-sepolia"].subgraphUrl),
      base: await doorTo(networks.base.subgraphUrl),
    };
    const subgraphUrls = { "base-sepolia": doors["base-sepolia"].url, base: doors.base.url };
    api = await startTestApi({ env: { subgraphUrls }, timings: { publicAnswerMs: 0 } });
    market = await openMarket(api, await openChain("base-sepolia"));
    const { agents } = api.container.features.agents.models;
    for (const { agentId } of [market.buyer, market.seller])
      await agents.updateOne({ _id: agentId }, { description: `Words of ${agentId}`, kyaLevel: 3 });
    const deal = await fundedDeal(market);
    escrowId = deal.paymentInstructions.escrowId;
    await deliverDeal(market, deal.transactionId);
    await act(api, market.chain, market.buyer, deal.transactionId, "accept");
  });
  after(async () => {
    await api.close();
    for (const door of Object.values(doors)) await door.close();
  });
  afterEach(() => {
    for (const door of Object.values(doors)) door.isOpen = true;
  });

  const ask = (wallet: string) => api.request("GET", `${PATH}/${wallet}`);
  const read = async ({ walletAddress }: TestAgent): Promise<any> => (await ask(walletAddress)).body.data;

  it("shows scores, deals, counterparties and the score's history on both networks, and what it sells", async () => {
    const { walletAddress, agentId, apiKey } = market.seller;
    const data = await until("the release is counted", async () => {
      const shown = await read(market.seller);
      return shown.networks["base-sepolia"].score === 1 && shown;
    });
    const { networks, listings, seller } = data;
    assert.strictEqual(data.walletAddress, walletAddress);
    const name = (await api.container.features.agents.directory.byId(agentId)).agentName;
    assert.deepEqual(seller, { agentId, name, description: `Words of ${agentId}` });
    assert.deepEqual(
      listings.map(({ id, sellerAgentId }: any) => [id, sellerAgentId]),
      [[market.serviceId, agentId]],
    );
    const { body } = await api.request("GET", `/api/v1/agents/${agentId}/trust`, { key: apiKey });
    const { scoreHistory, indexedBlock, outcomes, ...record } = networks["base-sepolia"];
    const { earlyDeclines, ...trustOutcomes } = body.data.outcomes;
    assert.isAtMost(indexedBlock, body.data.indexedBlock);
    assert.deepEqual([outcomes, scoreHistory, earlyDeclines], [trustOutcomes, body.data.scoreHistory, 0]);
    assert.deepEqual(record, {
      score: 1,
      escrows: { asBuyer: 0, asSeller: 1 },
      distinctCounterparties: 1,
      topCounterpartyShare: 1,
      medianDealUsd: "2.5",
      settledVolumeUsd: "2.5",
    });
    assert.strictEqual(scoreHistory[0].escrowId, escrowId);
    assert.deepEqual([networks.base.score, networks.base.scoreHistory], [0, []]);
  });

  it("shows of a wallet that sells nothing what the chains have, and no word or id of its own", async () => {
    const { body, text, headers } = await ask(market.buyer.walletAddress);
    assert.deepEqual([body.data.seller, body.data.listings], [null, []]);
    assert.strictEqual(body.data.networks["base-sepolia"].escrows.asBuyer, 1);
    for (const secret of [market.buyer.agentId, "Words of", market.buyer.publicKey, "kya", "earlyDecline"])
      assert.notInclude(text, secret);
    assert.match(headers.get("etag") ?? "", /^"/);
    assert.match(headers.get("cache-control") ?? "", /^public/);
  });

  it("names a seller from its first active service to its last one, without any deal", async () => {
    const newcomer = await api.registerAgent();
    assertError(await ask(newcomer.walletAddress), 404, "not_found");
    const id = await listService(api, newcomer);
    const shown = await read(newcomer);
    assert.strictEqual(shown.seller.agentId, newcomer.agentId);
    assert.deepEqual(
      [shown.networks.base.score, shown.networks.base.medianDealUsd, shown.networks.base.escrows.asSeller],
      [0, null, 0],
    );
    await api.request("PATCH", `/api/v1/services/${id}`, { key: newcomer.apiKey, body: { status: "paused" } });
    assertError(await ask(newcomer.walletAddress), 404, "not_found");
  });

  it("answers one network while the other can't be read, and 503 where that one may know the wallet", async () => {
    doors.base.isOpen = false;
    const { networks } = await read(market.seller);
    assert.isNull(networks.base);
    assert.strictEqual(networks["base-sepolia"].score, 1);
    const stranger = await api.registerAgent();
    assertError(await ask(stranger.walletAddress), 503, "indexer_unavailable");
    doors["base-sepolia"].isOpen = false;
    assertError(await ask(market.seller.walletAddress), 503, "indexer_unavailable");
  });

  it("takes an address in any case, and refuses anything else by name", async () => {
    const { walletAddress } = market.seller;
    for (const wallet of [walletAddress.toLowerCase(), `0x${walletAddress.slice(2).toUpperCase()}`])
      assert.strictEqual((await ask(wallet)).body.data.walletAddress, walletAddress);
    for (const wallet of ["unknown", market.seller.agentId, `${walletAddress}0`])
      assertInvalid(await ask(wallet), "params.wallet");
  });
});
