// The sandbox of the local stack: both clocks move, payments and purchases go on, and it is nowhere else.
import { x402Client } from "@x402/core/client";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { wrapFetchWithPayment } from "@x402/fetch";
import { assert } from "chai";

import { mandateModel } from "../../../api/features/mandates/model.ts";
import { NETWORKS } from "../../../api/config/constants.ts";
import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { copyChain } from "../../fixtures/chain-copy.ts";
import type { ChainCopy } from "../../fixtures/chain-copy.ts";
import { CliHome } from "../../fixtures/cli.ts";
import { createEscrow, listService } from "../../fixtures/deals.ts";
import type { CheckoutData } from "../../fixtures/deals.ts";
import { withMandate } from "../../fixtures/mandates.ts";
import { oddNodeTo } from "../../fixtures/odd-node.ts";
import type { Oddity } from "../../fixtures/odd-node.ts";
import { CALL_UNITS, startPaidApi } from "../../fixtures/payments.ts";
import type { PaidApi } from "../../fixtures/payments.ts";

const ADVANCE = "/api/v1/sandbox/advance";
const DAY_SECONDS = 86_400;
const MONTH_SECONDS = 30 * DAY_SECONDS;
const YEAR_SECONDS = 365 * DAY_SECONDS;
/** Seconds between two looks at a clock on a loaded machine. */
const TOLERANCE = 120;
const MS = 1_000;

describe("the sandbox", () => {
  let copies: Record<(typeof NETWORKS)[number], ChainCopy>;
  let rpcUrls: Record<(typeof NETWORKS)[number], string>;
  let paid: PaidApi;
  before(async () => {
    const [sepolia, base] = await Promise.all([copyChain("base-sepolia"), copyChain("base")]);
    copies = { "base-sepolia": sepolia, base };
    rpcUrls = { "base-sepolia": sepolia.chain.rpcUrl, base: base.chain.rpcUrl };
    paid = await startPaidApi({ chain: sepolia.chain, rpcUrls, isLocalStack: true, search: false });
  });
  after(async () => {
    await paid.close();
    await Promise.all(Object.values(copies).map((copy) => copy.close()));
  });

  const timeOf = async (network: (typeof NETWORKS)[number]) =>
    Number((await copies[network].chain.client.getBlock()).timestamp);
  const times = () => Promise.all(NETWORKS.map(timeOf));
  const advance = (seconds: unknown, api: Pick<TestApi, "request"> = paid.api) =>
    api.request("POST", ADVANCE, { body: { seconds } });
  const emptyWindow = () => paid.api.container.features.limits.models.clientWindows.deleteMany({ _id: /^sandbox:/ });

  it("moves the clock of every chain, and answers its new time and block", async () => {
    const before = await times();
    const { status, body, text } = await advance(360);
    assert.strictEqual(status, 200, text);
    const { seconds, chains } = body.data;
    assert.strictEqual(seconds, 360);
    assert.deepEqual(
      chains.map(({ network }: { network: string }) => network),
      [...NETWORKS],
    );
    for (const [index, network] of NETWORKS.entries()) {
      const { blockNumber, time } = chains[index];
      const { timestamp } = await copies[network].chain.client.getBlock({ blockNumber: BigInt(blockNumber) });
      assert.strictEqual(Date.parse(time), Number(timestamp) * MS);
      const moved = Number(timestamp) - (before[index] ?? 0);
      assert.isAtLeast(moved, 360);
      assert.isBelow(moved, 360 + TOLERANCE);
    }
  });

  it("adds up moves that are made at the same time, sixty in an hour, and says when again", async () => {
    await emptyWindow();
    const before = await times();
    const answers = await Promise.all(Array.from({ length: 60 }, () => advance(600)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      answers.map(() => 200),
    );
    for (const [index, after] of (await times()).entries()) {
      assert.closeTo(after - (before[index] ?? 0), 60 * 600, TOLERANCE);
    }
    const refused = await advance(600);
    assertError(refused, 429, "rate_limit_exceeded");
    assert.deepEqual(refused.body.details, { window: "sandbox", countedBy: "address", limit: 60 });
    assert.match(refused.headers.get("retry-after") ?? "", /^3[456]\d\d$/);
    await emptyWindow();
  });

  it("names the field and its bounds, and moves nothing", async () => {
    const before = await times();
    for (const [seconds, words] of [
      [0, ">=1"],
      [-5, ">=1"],
      [MONTH_SECONDS + 1, `<=${MONTH_SECONDS}`],
      [1.5, "int"],
      ["6m", "number"],
      [null, "number"],
      [undefined, "number"],
    ] as const) {
      const answer = await advance(seconds);
      assertInvalid(answer, "body.seconds");
      assert.include(answer.body.details[0].message, words);
    }
    assertInvalid(await paid.api.request("POST", ADVANCE, { body: { seconds: 1, network: "base" } }), "body.network");
    for (const [index, after] of (await times()).entries()) assert.isBelow(after - (before[index] ?? 0), TOLERANCE);
  });

  it("leaves no clock more than a year ahead of the real one", async () => {
    // This service's clock is behind, so the chains are a year ahead but for an hour and what they have been moved.
    const lead = Math.max(...(await times())) - Math.floor(Date.now() / MS);
    const clock = { now: () => new Date(Date.now() - (YEAR_SECONDS - lead - 3_600) * MS) };
    const api = await startTestApi({ env: { isLocalStack: true, rpcUrls }, clock });
    const refused = await advance(3_600 + TOLERANCE, api);
    assertInvalid(refused, "body.seconds");
    assert.match(
      refused.body.details[0].message,
      /may be 31536000 seconds ahead of the real one, which leaves 3[456]\d\d\./,
    );
    assert.strictEqual((await advance(60, api)).status, 200);
    await api.close();
  });

  describe("after a month at once", () => {
    let buyer: TestAgent;
    let pay: (agent: TestAgent, path: string, init?: RequestInit) => Promise<Response>;
    before(async () => {
      buyer = await paid.richAgent();
      pay = (agent, path, init = {}) => {
        const client = new x402Client().register("eip155:*", new ExactEvmScheme(agent.account));
        const headers = { "x-api-key": agent.apiKey, "content-type": "application/json" };
        return wrapFetchWithPayment(fetch, client)(paid.url + path, { ...init, headers });
      };
      // The service has seen the time before.
      assert.strictEqual((await pay(buyer, "/api/v1/services")).status, 200);
      assert.strictEqual((await advance(MONTH_SECONDS)).status, 200);
    });

    it("takes the payment of an official client at once", async () => {
      const had = await paid.chain.usdcOf(buyer.walletAddress);
      assert.strictEqual((await pay(buyer, "/api/v1/services")).status, 200);
      assert.strictEqual(had - (await paid.chain.usdcOf(buyer.walletAddress)), CALL_UNITS.api);
    });

    it("counts a payment of a key with a mandate", async () => {
      const keyed = await withMandate(paid.api, buyer, { scopes: ["read"] });
      assert.strictEqual((await pay(keyed, "/api/v1/services")).status, 200);
      const { spentUsd } = (await mandateModel(paid.api.container.connection).findById(keyed.keyId)) ?? {};
      assert.strictEqual(BigInt(spentUsd ?? 0), CALL_UNITS.api);
    });

    it("makes a quote that the contract takes, also as a gasless one", async () => {
      const free = await startTestApi({
        databaseName: paid.api.container.connection.name,
        env: { rpcUrls },
        oneProcess: "lists a service for free in the database of the other",
      });
      const seller = await free.registerAgent();
      const serviceId = await listService(free, seller);
      const body = JSON.stringify({ serviceId, paymentMethod: "usdc" });
      const answer = await pay(buyer, "/api/v1/checkout", { method: "POST", body });
      assert.strictEqual(answer.status, 200);
      const { data } = (await answer.json()) as { data: CheckoutData };
      const { deadline, quoteExpiresAt, gasless } = data.paymentInstructions;
      const now = await timeOf("base-sepolia");
      assert.isAbove(deadline, now);
      assert.isAbove(Date.parse(quoteExpiresAt), now * MS);
      assert.isAbove(Number(gasless?.typedData.message.validBefore), now);
      await createEscrow({ chain: paid.chain, buyer }, data);
      await free.stop();
    });
  });

  it("is asked by `agent-marketplace sandbox advance`", async () => {
    const home = await CliHome.make();
    await home.signIn(paid.api, await paid.api.registerAgent());
    const before = await timeOf("base");
    const { seconds, chains } = await home.ask(["sandbox", "advance", "2m"]);
    assert.strictEqual(seconds, 120);
    assert.closeTo(Date.parse(chains[1].time) / MS - before, 120, TOLERANCE / 2);
    for (const wrong of ["6", "31d"]) {
      const { code, stdout } = await home.run(["sandbox", "advance", "--json", "--", wrong]);
      assert.strictEqual(code, 2, wrong);
      assert.include(JSON.parse(stdout).error.message, "from 1s to 30d");
    }
    await home.remove();
  });

  describe("anywhere else", () => {
    const body = { seconds: 360 };
    async function answerOf(api: TestApi, sent: unknown = body) {
      const unknown = await api.request("POST", "/api/v1/no-such-route", { body: sent });
      const answer = await api.request("POST", ADVANCE, { body: sent });
      return { unknown: [unknown.status, unknown.body], answer: [answer.status, answer.body] };
    }

    it("doesn't exist without the stack's own flag, although the nodes are anvil on loopback", async () => {
      const api = await startTestApi({ env: { rpcUrls } });
      const { unknown, answer } = await answerOf(api);
      assert.deepEqual(answer, unknown);
      assertError(await api.request("GET", ADVANCE), 404, "not_found");
      await api.close();
    });

    it("doesn't exist while a node is another program, and answers 503 when a node ends half-way", async () => {
      const node = await oddNodeTo(rpcUrls.base);
      const api = await startTestApi({ env: { isLocalStack: true, rpcUrls: { ...rpcUrls, base: node.url } } });
      const answers: Oddity[] = [
        { kind: "result", result: "Geth/v1.16.0-stable/linux-amd64/go1.24" },
        { kind: "error", message: "the method web3_clientVersion does not exist", code: -32_601 },
        { kind: "status", status: 503 },
      ];
      const before = await times();
      for (const oddity of answers) {
        node.odd = (method) => (method === "web3_clientVersion" ? oddity : undefined);
        for (const sent of [body, { nonsense: true }]) {
          const { unknown, answer } = await answerOf(api, sent);
          assert.deepEqual(answer, unknown, JSON.stringify(oddity));
        }
      }
      assert.deepEqual(
        node.seen.filter((method) => method.startsWith("evm_")),
        [],
      );
      for (const [index, after] of (await times()).entries()) assert.isBelow(after - (before[index] ?? 0), TOLERANCE);
      node.odd = (method) => (method === "evm_mine" ? { kind: "status", status: 502 } : undefined);
      assertError(await advance(1, api), 503, "chain_unavailable");
      node.recover();
      assert.strictEqual((await advance(1, api)).status, 200);
      await api.close();
      await node.close();
    });
  });
});
