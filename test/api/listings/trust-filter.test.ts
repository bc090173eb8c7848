// minTrustScore compares with discoveryScore = min(1, onChainScore / 100), including the bound, for every score. In
// binary fractions, products such as 0.07 * 100 are above the integer.

import { assert } from "chai";

import type { Network } from "../../../api/config/constants.ts";
import type { IndexedAgent } from "../../../api/indexer/schemas.ts";
import { listingBody, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { indexedAgent, indexersWith } from "../../fixtures/indexed-agents.ts";
import { until } from "../../fixtures/until.ts";

const FULL_SCORE = 100;

describe("minTrustScore", () => {
  let api: TestApi;
  let seller: TestAgent;
  let serviceId: string;
  const known: Record<Network, Map<string, IndexedAgent>> = { "base-sepolia": new Map(), base: new Map() };

  before(async () => {
    api = await startTestApi({ search: true, indexers: indexersWith(known) });
    seller = await api.registerAgent();
    const body = listingBody({ title: "Chess coaching", description: "Grandmasters review your games." });
    serviceId = (await api.request("POST", "/api/v1/services", { key: seller.apiKey, body })).body.data.id;
  });
  after(() => api.close());

  async function setScore(score: number): Promise<void> {
    const { walletAddress } = seller;
    known["base-sepolia"].set(walletAddress.toLowerCase(), indexedAgent(walletAddress, { score: BigInt(score) }));
    await api.container.services.standings.sync("base-sepolia", [walletAddress]);
  }

  /** The list of services, its search, and discovery, each with the bound. */
  async function found(minTrustScore: number): Promise<string[][]> {
    const list = (query: string) =>
      api.request("GET", `/api/v1/services?minTrustScore=${minTrustScore}${query}`, { key: seller.apiKey });
    const discover = () =>
      api.request("POST", "/api/v1/discover", { body: { query: "chess", filters: { minTrustScore } } });
    const [listed, searched, discovered] = await Promise.all([list(""), list("&q=chess"), discover()]);
    return [
      listed.body.data.map(({ id }: { id: string }) => id),
      searched.body.data.map(({ id }: { id: string }) => id),
      discovered.body.map((result: { serviceId: string }) => result.serviceId),
    ];
  }

  const nowhere = [[], [], []];
  /** Searches find the seller once the index has the score. */
  const untilEverywhere = (minTrustScore: number) =>
    until(`${minTrustScore} is reached`, async () =>
      (await found(minTrustScore)).every((ids) => String(ids) === serviceId),
    );

  it("[S2.5.11] [S4.r12.3] finds a seller exactly at the bound, and none below it, for each score from 1 to 100", async () => {
    for (let score = 1; score <= FULL_SCORE; score += 1) {
      await setScore(score);
      await untilEverywhere(score / FULL_SCORE);
      if (score === FULL_SCORE) continue;
      assert.deepEqual(await found((score + 1) / FULL_SCORE), nowhere, `score ${score}, a point more`);
    }
  });

  it("[S2.5.11] of 1 is reached by every score from 100 on, and of 0 even by negative ones", async () => {
    await setScore(101);
    await untilEverywhere(1);
    await setScore(-7);
    await untilEverywhere(0);
    assert.deepEqual(await found(0.000001), nowhere);
  });

  it("[S2.5.11] between two scores requires the higher one", async () => {
    await setScore(55);
    await untilEverywhere(0.549999);
    assert.deepEqual(await found(0.550001), nowhere);
  });
});
