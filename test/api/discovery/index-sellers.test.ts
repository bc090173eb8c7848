// The search index stays in step with the sellers' standings, in whatever order listings and standings are stored.
import { assert } from "chai";

import { LISTING_INDEX, listingFormat } from "../../../api/features/discovery/listing-format.ts";
import type { ListingFilter } from "../../../api/features/discovery/listing-format.ts";
import type { StandingRecord } from "../../../api/features/agents/model.ts";
import { listingBody, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { indexedAgent } from "../../fixtures/indexed-agents.ts";
import { startLoops } from "../../fixtures/loops.ts";
import type { RunningLoops } from "../../fixtures/loops.ts";
import { until } from "../../fixtures/until.ts";

const LOOP = "search.write-index";
const ABOVE_NEW = 1.25;
const MOST = 1_000;

type Parts = Record<string, number>;

describe("the sellers in the search index", () => {
  let api: TestApi;
  let seller: TestAgent;
  let writing: RunningLoops | undefined;
  let block = 100;

  beforeEach(async () => {
    api = await startTestApi();
    seller = await api.registerAgent();
  });
  afterEach(async () => {
    await stopWriting();
    await api.close();
  });

  function startWriting(): void {
    writing = startLoops(api, LOOP);
  }
  async function stopWriting(): Promise<void> {
    await writing?.stop();
    writing = undefined;
  }
  const list = async (title: string, fields: object = {}): Promise<string> => {
    const body = listingBody({ title, description: COMPLETE, ...fields });
    return (await api.request("POST", "/api/v1/services", { key: seller.apiKey, body })).body.data.id;
  };
  /** As the settlement of so many deals with as many others is copied from the subgraph. */
  async function settle(deals: number, network: "base" | "base-sepolia" = "base-sepolia"): Promise<void> {
    block += 1;
    const wallet = seller.walletAddress.toLowerCase();
    const facts = { score: BigInt(deals), distinctCounterparties: deals, topCounterpartyCount: 1, settledCount: deals };
    const agents = new Map([[wallet, indexedAgent(wallet, { ...facts, released: deals })]]);
    await api.container.features.agents.standings.write(network, [wallet], agents, block);
  }
  const found = async (filter: ListingFilter): Promise<string[]> => {
    const reader = api.container.features.discovery.indexes.reader(LISTING_INDEX, listingFormat);
    const { table } = await reader.open();
    await table.refresh();
    const matches = await table.search(listingFormat, { text: "falconry", encoding: null }, filter, MOST);
    return matches.map(({ document }) => document.id).sort();
  };
  const untilFound = (filter: ListingFilter, ids: string[]) =>
    until(`${JSON.stringify(filter)} finds ${ids.length}`, async () => {
      const now = await found(filter).catch(() => undefined);
      return now !== undefined && String(now) === String(ids.toSorted());
    });

  it("rise and fall with what they settle on the listing's network", async () => {
    const [test, main] = [await list("Falconry show"), await list("Falconry course", { network: "base" })];
    startWriting();
    await untilFound({}, [test, main]);
    assert.deepEqual(await found({ minMerit: ABOVE_NEW }), []);
    await settle(100);
    await untilFound({ minMerit: ABOVE_NEW }, [test]);
    assert.deepEqual(await found({ minScoreStep: 20 }), [test]);
    await settle(100, "base");
    await untilFound({ minMerit: ABOVE_NEW }, [test, main]);
    await settle(50);
    await untilFound({ minMerit: ABOVE_NEW }, [main]);
    assert.deepEqual(await found({ minScoreStep: 10 }), [test, main].sort());
    assert.deepEqual(await found({ minScoreStep: 11 }), [main]);
  });

  it("count for a listing that is created, changed or loaded later", async () => {
    await settle(100);
    const loaded = await list("Falconry show");
    startWriting();
    await untilFound({ minMerit: ABOVE_NEW }, [loaded]);
    const created = await list("Falconry course");
    await untilFound({ minMerit: ABOVE_NEW }, [loaded, created]);
    await api.request("PATCH", `/api/v1/services/${loaded}`, { key: seller.apiKey, body: { price: 7 } });
    await untilFound({ minMerit: ABOVE_NEW, prices: [{ currencies: ["USDC"], min: "7", max: "7" }] }, [loaded]);
  });

  it("count with text and category: the index has what the parts of a result's score make", async () => {
    const description = "Send photographs of handwritten cards. I type, test conversions and lay out a printable book.";
    const id = await list("Falconry recipes in a cookbook", { description, category: "hr_talent" });
    await settle(50);
    startWriting();
    await untilFound({}, [id]);
    const body = { query: "falconry", explain: true };
    const [result] = (await api.request("POST", "/api/v1/discover", { body })).body as { explanation: Parts }[];
    const { completeness, prose, categoryFit, trust } = result?.explanation ?? {};
    assert.ok(completeness !== undefined && prose !== undefined && categoryFit !== undefined && trust !== undefined);
    assert.isBelow(categoryFit, 1);
    const merit = completeness * prose * categoryFit * trust;
    assert.deepEqual(await found({ minMerit: merit }), [id]);
    assert.deepEqual(await found({ minMerit: merit * 1.02 }), []);
  });

  it("are followed from where the last writer ended", async () => {
    const id = await list("Falconry show");
    startWriting();
    await untilFound({}, [id]);
    await stopWriting();
    await settle(100);
    startWriting();
    await untilFound({ minMerit: ABOVE_NEW }, [id]);
  });

  it("write a row again only when a step is reached, and no row for a wallet without listings", async () => {
    const id = await list("Falconry show");
    startWriting();
    await untilFound({}, [id]);
    await settle(100);
    await untilFound({ minMerit: ABOVE_NEW }, [id]);
    const { table } = await api.container.features.discovery.indexes.reader(LISTING_INDEX, listingFormat).open();
    await table.refresh();
    const before = await table.version();
    await settle(101);
    const stranger = `0x${"ab".repeat(20)}`;
    const { standings } = api.container.features.agents;
    await standings.write(
      "base-sepolia",
      [stranger],
      new Map([[stranger, indexedAgent(stranger, { score: 9n })]]),
      block,
    );
    // What follows is written after both.
    const last = await list("Falconry gloves");
    await untilFound({}, [id, last]);
    await table.refresh();
    assert.strictEqual(await table.version(), before + 1);
  });

  it("are read again when their collection was dropped", async () => {
    const id = await list("Falconry show");
    await settle(100);
    startWriting();
    await untilFound({ minMerit: ABOVE_NEW }, [id]);
    // A drop reports no deletion of the documents in it.
    await api.container.connection.collection<StandingRecord>("standings").drop();
    await untilFound({ minMerit: ABOVE_NEW }, []);
    assert.deepEqual(await found({}), [id]);
  });
});

const COMPLETE =
  "Reads the contracts of a token and writes a report on owners, mint rights, upgrades, fees and hidden traps.";
