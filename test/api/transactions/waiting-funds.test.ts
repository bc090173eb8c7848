// A burst of fund calls that wait for the subgraph: what it costs, what it leaves to others, and how it ends.
import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";

import { assert } from "chai";

import { readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { startApiProcess } from "../../fixtures/api-process.ts";
import { checkOut, createEscrow, openMarket, readTransaction } from "../../fixtures/deals.ts";
import type { CheckoutData, Market } from "../../fixtures/deals.ts";
import { doorTo } from "../../fixtures/outage.ts";
import type { Door } from "../../fixtures/outage.ts";
import { openChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const BURST = 200;

describe("a burst of fund calls that wait for the subgraph", () => {
  let api: TestApi;
  let subgraph: Door;
  let market: Market;
  let checkout: CheckoutData;
  let txHash: string;
  /** The last block before the funding, and the last one that the subgraph has. */
  let unfundedBlock: number;
  let ceiling = Infinity;
  const queries = { Meta: 0, Escrows: 0 };

  before(async () => {
    const { networks } = await readStack();
    subgraph = await doorTo(networks["base-sepolia"].subgraphUrl);
    subgraph.translate = ({ query, variables }, answer) => {
      const operation = /query (\w+)/.exec(query as string)?.[1] as keyof typeof queries;
      queries[operation] += 1;
      if (variables.minBlock > ceiling) {
        const message = `has only indexed up to block number ${ceiling} and data for block number`;
        return { errors: [{ message: `${message} ${variables.minBlock} is therefore not yet available` }] };
      }
      const { block } = answer.data._meta;
      block.number = Math.min(block.number, ceiling);
      return answer;
    };
    const subgraphUrls = { "base-sepolia": subgraph.url, base: networks.base.subgraphUrl };
    api = await startTestApi({ env: { subgraphUrls }, oneProcess: "counts one process's queries" });
    market = await openMarket(api, await openChain("base-sepolia"));
    checkout = await checkOut(market);
    const receipt = await createEscrow(market, checkout);
    txHash = receipt.transactionHash;
    unfundedBlock = Number(receipt.blockNumber) - 1;
  });
  after(async () => {
    await api.close();
    await subgraph.close();
  });
  beforeEach(() => {
    ceiling = unfundedBlock;
    Object.assign(queries, { Meta: 0, Escrows: 0 });
  });

  /** Sends a request; `taken` resolves when the server has taken it, before it reads the body. */
  function send(method: string, url: string, { apiKey }: { apiKey: string }, body = "") {
    const call = request(url, {
      method,
      agent: false,
      headers: { "content-type": "application/json", "x-api-key": apiKey, expect: "100-continue" },
    });
    const taken = once(call, "continue").then(() => call.end(body));
    const answer = (async () => {
      const [response] = (await once(call, "response")) as [IncomingMessage];
      const { code, data } = (await json(response)) as { code?: string; data?: { status: string } };
      return `${response.statusCode} ${code ?? data?.status} ${response.headers["retry-after"]}`;
    })();
    return { taken, answer };
  }

  /** Sends the burst to an API, and returns when it has taken every call and the subgraph is asked for its head. */
  async function burst(url: string) {
    const state = { answered: 0 };
    const path = url + checkout.paymentInstructions.fundEndpoint;
    const calls = Array.from({ length: BURST }, () => send("POST", path, market.buyer, JSON.stringify({ txHash })));
    const answers = calls.map(async ({ answer }) => {
      const text = await answer;
      state.answered += 1;
      return text;
    });
    await Promise.all(calls.map(({ taken }) => taken));
    const before = queries.Meta;
    await until("they wait", () => Promise.resolve(queries.Meta >= before + 2));
    return { state, answers };
  }

  it("leaves the subgraph available to reads, which are answered while it waits", async () => {
    const other = await checkOut(market);
    const { state, answers } = await burst(api.url);
    assert.strictEqual(queries.Escrows, 0);
    for (let n = 1; n <= 3; n += 1) {
      const { status } = await readTransaction(api, market.buyer, other.transactionId);
      assert.deepEqual([status, queries.Escrows], ["pending_funding", n]);
    }
    assert.strictEqual(state.answered, 0);
    ceiling = Infinity;
    assert.deepEqual([...new Set(await Promise.all(answers))], ["200 funded undefined"]);
    // A few concurrent reads, and all others in the queries after them.
    assert.ok(queries.Escrows <= 3 + 8, `${queries.Escrows} queries for ${BURST} waits`);
  });

  it("gets a 503 with Retry-After as soon as the process stops, and so do waiting lists", async () => {
    const variables = { SUBGRAPH_URL_BASE_SEPOLIA: subgraph.url };
    const server = await startApiProcess(api.container.connection.name, variables);
    try {
      const { state, answers } = await burst(server.url);
      const lists = [
        send("GET", `${server.url}/api/v1/transactions`, market.buyer),
        send("GET", `${server.url}/api/v1/jobs`, market.seller),
      ];
      await Promise.all(lists.map(({ taken }) => taken));
      assert.strictEqual(state.answered, 0);
      const code = server.stop();
      assert.deepEqual([...new Set(await Promise.all(answers))], ["503 service_unavailable 1"]);
      for (const { answer } of lists) assert.strictEqual(await answer, "503 service_unavailable 1");
      assert.strictEqual(await code, 0);
    } finally {
      server.kill();
    }
  });
});
