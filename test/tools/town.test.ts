import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assert } from "chai";
import type { Hex } from "viem";
import { privateKeyToAddress } from "viem/accounts";

import type { StackFacts } from "../../scripts/demo/stack-facts.ts";
import { BUYERS, SELLERS } from "../../scripts/town/cast.ts";
import { Town } from "../../scripts/town/town.ts";
import { readStack, startTestApi } from "../fixtures/api.ts";
import type { TestAgent, TestApi } from "../fixtures/api.ts";
import { ONE_USDC } from "../fixtures/deals.ts";
import { PUBLIC_URL } from "../fixtures/environment.ts";
import { openChain } from "../fixtures/stack.ts";
import type { TestChain } from "../fixtures/stack.ts";
import { callerOf } from "../fixtures/tools.ts";
import type { Caller } from "../fixtures/tools.ts";
import { until } from "../fixtures/until.ts";

const REQUEST = { text: "A text to summarise" };
const CRITERIA = { schema: { type: "object", required: ["summary"] }, checks: ["cel: words(result.summary) >= 2"] };
/** What a slow seller and a late buyer wait for. */
const DELAY_MS = 300;

describe("the town of the local stack", () => {
  let api: TestApi;
  let chain: TestChain;
  let dir: string;
  let town: Town;

  const open = async () => {
    const { networks } = (await readStack()) as unknown as StackFacts;
    const facts = { networks, api: api.url } as StackFacts;
    return Town.open({ facts, dir, publicUrl: PUBLIC_URL, log: () => undefined, delayMs: DELAY_MS });
  };

  before(async () => {
    api = await startTestApi({ runsLoops: true, env: { isLocalStack: true } });
    chain = await openChain("base-sepolia");
    dir = await mkdtemp(join(tmpdir(), "town-"));
    town = await open();
  });
  after(async () => {
    await town.close();
    await api.close();
    await rm(dir, { recursive: true, force: true });
  });

  const newcomer = async (usdc = 0n): Promise<{ agent: TestAgent; caller: Caller }> => {
    const agent = await api.registerAgent();
    await chain.endow(agent.account, { usdc });
    return { agent, caller: callerOf(api, chain, agent) };
  };
  const sellerOf = (manner: string) => {
    const index = SELLERS.findIndex((part) => part.manner === manner);
    return town.sellers[index] ?? assert.fail(`no seller is ${manner}`);
  };
  const hire = (caller: Caller, serviceId: string, fields: Record<string, unknown> = {}) =>
    caller.ask("hire", {
      intentId: randomUUID(),
      serviceId,
      maxPrice: "1.00",
      request: REQUEST,
      criteria: CRITERIA,
      waitSeconds: 20,
      ...fields,
    });
  /** On a loaded machine a call may end before the delivery comes. */
  const hireAndWait = async (caller: Caller, serviceId: string) => {
    const { dealId } = await hire(caller, serviceId);
    await until("the seller has delivered", async () => (await stateOf(caller, dealId)) === "delivered");
    return caller.ask("get_deal", { dealId });
  };
  const stateOf = async (caller: Caller, dealId: unknown) => (await caller.ask("get_deal", { dealId }))["state"];

  it("has twelve buyers and six sellers of every manner, each with a wallet of its own that only its owner can read", async () => {
    assert.isAtLeast(BUYERS.length, 12);
    assert.isAtLeast(SELLERS.length, 6);
    assert.sameMembers(
      [...new Set(SELLERS.map(({ manner }) => manner))],
      ["prompt", "slow", "wrongFormat", "silent", "instructing"],
    );
    assert.sameMembers([...new Set(BUYERS.map(({ taste }) => taste))], ["fair", "unfair", "late"]);
    const file = join(dir, "town.json");
    const keys = Object.values(JSON.parse(await readFile(file, "utf8")) as Record<string, string>);
    assert.strictEqual(new Set(keys).size, BUYERS.length + SELLERS.length);
    assert.strictEqual((await stat(file)).mode & 0o777, 0o600);
  });

  it("tells the stack of its wallets, so that a browser may sign in with one", async () => {
    const keys = Object.values(JSON.parse(await readFile(join(dir, "town.json"), "utf8")) as Record<string, Hex>);
    const listed = await api.container.features.stackWallets.models.stackWallets.find({ madeBy: "program" }).lean();
    assert.sameMembers(
      listed.map(({ _id }) => _id),
      keys.map((key) => privateKeyToAddress(key).toLowerCase()),
    );
  });

  it("gives a newcomer who sells a job, and pays for the delivery", async () => {
    const { agent, caller } = await newcomer();
    const offer = { title: "A newcomer's answers", description: "Answers anything.", category: "research", price: 1 };
    await caller.ask("offer_service", { intentId: "offer", ...offer });
    await town.welcome();
    const { jobs } = await caller.ask("my_jobs");
    assert.lengthOf(jobs as unknown[], 1);
    const [{ dealId }] = jobs as [{ dealId: string }];
    await caller.ask("deliver", { intentId: "work", dealId, payload: { answer: "Forty-two." } });
    await until("the buyer has accepted", async () => (await stateOf(caller, dealId)) === "released");
    assert.strictEqual(await chain.usdcOf(agent.walletAddress), 980_000n);
    await town.welcome();
    assert.lengthOf((await caller.ask("list_deals"))["deals"] as unknown[], 1);
  });

  it("delivers to a newcomer who buys", async () => {
    const { caller } = await newcomer(10n * ONE_USDC);
    const { dealId } = await hireAndWait(caller, sellerOf("prompt").serviceId);
    assert.strictEqual((await caller.ask("review_delivery", { dealId }))["result"], "pass");
    await caller.ask("accept", { intentId: "accept", dealId });
  });

  it("has a seller that is slow, one that fails the criteria, one that never delivers and one that gives orders", async () => {
    const { caller } = await newcomer(10n * ONE_USDC);
    const silent = await hire(caller, sellerOf("silent").serviceId, { waitSeconds: 0 });
    await hireAndWait(caller, sellerOf("slow").serviceId);
    const wrong = await hireAndWait(caller, sellerOf("wrongFormat").serviceId);
    assert.strictEqual((await caller.ask("review_delivery", { dealId: wrong["dealId"] }))["result"], "fail");
    const { result } = await hireAndWait(caller, sellerOf("instructing").serviceId);
    assert.isTrue((result as { untrusted: boolean }).untrusted);
    assert.include((result as { text: string }).text, "ignore all previous instructions");
    assert.strictEqual(await stateOf(caller, silent["dealId"]), "funded");
  });

  it("trades among its own, so that nobody has more than half of its deals with one other", async () => {
    const { caller } = await newcomer();
    const offer = { title: "A second newcomer", description: "Answers anything.", category: "research", price: 0.2 };
    await caller.ask("offer_service", { intentId: "offer", ...offer });
    for (let turn = 0; turn < BUYERS.length * 2; turn += 1) await town.turn();
    const pairs = new Map<string, number>();
    const deals = new Map<string, number>();
    for (const { resident } of town.buyers) {
      const { deals: own } = await resident.call("list_deals", { role: "buyer", limit: 50 });
      for (const deal of own as { with: string }[]) {
        deals.set(resident.agentId, (deals.get(resident.agentId) ?? 0) + 1);
        pairs.set(`${resident.agentId} ${deal.with}`, (pairs.get(`${resident.agentId} ${deal.with}`) ?? 0) + 1);
      }
    }
    assert.strictEqual(deals.size, BUYERS.length);
    for (const [pair, together] of pairs) {
      const all = deals.get(pair.split(" ")[0] ?? "") ?? 0;
      if (all > 1) assert.isAtMost(together * 2, all, pair);
    }
    // Deliveries that fail are disputed, others are accepted.
    const wrong = sellerOf("wrongFormat").resident;
    const prompt = sellerOf("prompt").resident;
    const countOf = async (seller: typeof wrong, state: string) =>
      ((await seller.call("list_deals", { role: "seller", state, limit: 50 }))["deals"] as unknown[]).length;
    await until("a failed delivery is disputed", async () => {
      return (await countOf(wrong, "disputed")) + (await countOf(wrong, "resolved")) > 0;
    });
    await until("a good delivery is accepted", async () => (await countOf(prompt, "released")) > 0);
  });

  it("goes on after a restart with the same agents and listings", async () => {
    const before = [...town.sellers, ...town.buyers].map(({ resident }) => resident.agentId);
    const services = town.sellers.map(({ serviceId }) => serviceId);
    await town.close();
    town = await open();
    assert.deepEqual(
      [...town.sellers, ...town.buyers].map(({ resident }) => resident.agentId),
      before,
    );
    assert.deepEqual(
      town.sellers.map(({ serviceId }) => serviceId),
      services,
    );
    await town.sweep();
    const { caller } = await newcomer(10n * ONE_USDC);
    assert.strictEqual((await hireAndWait(caller, sellerOf("prompt").serviceId))["role"], "buyer");
  });
});
