// Paid calls while one of the calls that they wait for fails or hangs: money moves once, and the payment still counts.
import { randomUUID } from "node:crypto";

import { assert } from "chai";

import { listingBody, readStack } from "../../fixtures/api.ts";
import type { Answer, TestAgent } from "../../fixtures/api.ts";
import { assertOffered, failEachCall, FAILING, HANGING } from "../../fixtures/each-call.ts";
import type { PreparedRequest } from "../../fixtures/each-call.ts";
import { startFacilitator } from "../../fixtures/facilitator.ts";
import type { RunningFacilitator } from "../../fixtures/facilitator.ts";
import { atNight } from "../../fixtures/nightly.ts";
import { faultyDatabase, faultyServer } from "../../fixtures/faults.ts";
import type { FaultKind, FaultyRoute } from "../../fixtures/faults.ts";
import { CALL_UNITS, headerV1, headerV2, signTransfer, startPaidApi } from "../../fixtures/payments.ts";
import type { PaidApi } from "../../fixtures/payments.ts";
import { openChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const SERVICES = "/api/v1/services";
const PACK = "/api/v1/x402/packs/api-10";
const PACK_CALLS = 10;
const PACK_UNITS = BigInt(PACK_CALLS) * CALL_UNITS.api;
/** Of the payment, and of the whole answer: short, so that many calls can hang. */
const SHORT = { timeoutMs: 400, answerLimitMs: 600 };

interface Purchase {
  units: bigint;
  prepare: () => Promise<PreparedRequest>;
  /** How many of it the agent has. */
  owned: () => Promise<number>;
  /** How many one purchase brings. */
  brings: number;
}

describe("a paid call while one of the calls that it waits for", () => {
  let database: FaultyRoute;
  let node: FaultyRoute;
  let facilitator: RunningFacilitator;
  let facilitation: FaultyRoute;
  /** Settles with its own key. */
  let paid: PaidApi;
  /** The same with short limits. */
  let hurried: PaidApi;
  /** The same with an external facilitator. */
  let assisted: PaidApi;
  let agent: TestAgent;
  /** Of packs: what is left of them isn't paid for. */
  let buyer: TestAgent;

  before(async () => {
    database = await faultyDatabase((await readStack()).mongodbUri);
    node = await faultyServer((await openChain("base-sepolia")).rpcUrl);
    facilitator = await startFacilitator("base-sepolia");
    facilitation = await faultyServer(facilitator.url);
    const oneProcess = "the faults are between this process and its servers";
    // Without a search index: its loops have calls of their own.
    const options = { oneProcess, search: false, mongodbUri: database.url, rpcUrl: node.url };
    paid = await startPaidApi(options);
    const databaseName = paid.api.container.connection.name;
    const { x402 } = paid.api.container.env;
    const { timeoutMs, answerLimitMs } = SHORT;
    const short = { ...options, databaseName, timings: { answerLimitMs } };
    hurried = await startPaidApi({ ...short, x402: { ...x402, timeoutMs } });
    assisted = await startPaidApi({
      ...short,
      x402: { payTo: paid.payTo, facilitatorUrl: facilitation.url, timeoutMs },
    });
    agent = await paid.richAgent();
    buyer = await paid.richAgent();
    for (const { api } of [paid, hurried, assisted]) {
      // The first listing of a process takes longer: it loads what embeds it.
      await until("the first call is answered", async () => {
        const [method, path, options] = await call.prepare();
        return (await api.request(method, path, options)).status === 201;
      });
    }
  });
  after(async () => {
    for (const one of [assisted, hurried]) await one.api.stop();
    await paid.close();
    await Promise.all([database.close(), node.close(), facilitation.close(), facilitator.close()]);
  });

  const collection = (name: string) => paid.api.container.connection.collection(name);
  const call: Purchase = {
    units: CALL_UNITS.api,
    async prepare() {
      const headers = headerV2(paid, await signTransfer(paid, agent.account));
      return ["POST", SERVICES, { key: agent.apiKey, body: listingBody(), headers }];
    },
    owned: () => collection("listings").countDocuments({ sellerAgentId: agent.agentId }),
    brings: 1,
  };
  const pack: Purchase = {
    units: PACK_UNITS,
    async prepare() {
      const proof = headerV1(await signTransfer(paid, buyer.account, { value: PACK_UNITS }));
      return ["POST", PACK, { key: buyer.apiKey, body: {}, headers: { ...proof, "idempotency-key": randomUUID() } }];
    },
    async owned() {
      const access = await collection("agent_access").findOne({ _id: buyer.agentId as never });
      return access?.["prepaid"].api as number;
    },
    brings: PACK_CALLS,
  };
  /** As some seconds later: what a process that was killed held is free. */
  async function endLeases(): Promise<void> {
    const ended = { $set: { leaseEndsAt: new Date(0) } };
    await collection("x402_claims").updateMany({ state: { $in: ["reserved", "settling", "spent"] } }, ended);
    await collection("idempotency_keys").updateMany({}, ended);
  }

  /** Fails each call of a purchase. The same request then ends with what was bought, once, and one payment. */
  async function failEach(purchase: Purchase, one: PaidApi, route: FaultyRoute, kinds: readonly FaultKind[]) {
    const payer = purchase === pack ? buyer : agent;
    const balance = () => paid.chain.usdcOf(payer.walletAddress);
    let before = { units: 0n, owned: 0 };
    const prepare = async () => {
      before = { units: await balance(), owned: await purchase.owned() };
      return purchase.prepare();
    };
    const afterwards = async ([method, path, options]: PreparedRequest, answer: Answer, what: string) => {
      if (answer.body?.accepts !== undefined) assert.strictEqual(await balance(), before.units, `${what}: asks again`);
      await until(`${what}: the payment counts`, async () => {
        await endLeases();
        const again = await paid.api.request(method, path, options);
        assertOffered(again, what);
        return again.status < 300;
      });
      assert.strictEqual(before.units - (await balance()), purchase.units, `${what}: units paid`);
      assert.strictEqual((await purchase.owned()) - before.owned, purchase.brings, `${what}: bought`);
    };
    const name = purchase === pack ? "a pack" : "a call";
    const calls = await failEachCall({ name, prepare }, { api: one.api, route, kinds, afterwards });
    assert.isAbove(calls, 0);
  }

  for (const kinds of atNight<FaultKind[][]>([["refused"], ["unconfirmed"]], [["refused", "unconfirmed"]])) {
    it(`to the database fails (${kinds.join(", ")}), is paid for once in the end, and runs once`, async () => {
      await failEach(call, paid, database, kinds);
    });
  }
  it("to the database hangs, is paid for once in the end, and runs once", async () => {
    await failEach(call, hurried, database, HANGING);
  });
  it("to the database fails, is paid for once in the end, and credited once: a pack", async () => {
    await failEach(pack, paid, database, FAILING);
  });
  // A pack is paid for as a call is, so a push lets only the calls for that hang.
  if (atNight(true, false)) {
    it("to the database hangs, is paid for once in the end, and credited once: a pack", async () => {
      await failEach(pack, hurried, database, HANGING);
    });
  }
  it("to the node fails, is paid for once in the end, and runs once", async () => {
    await failEach(call, paid, node, FAILING);
  });
  it("to the node hangs, is paid for once in the end, and runs once", async () => {
    await failEach(call, hurried, node, HANGING);
  });
  for (const kind of ["broken", "lost", "refused", ...HANGING] as const) {
    it(`to the facilitator fails (${kind}), is paid for once in the end, and runs once`, async () => {
      await failEach(call, assisted, facilitation, [kind]);
    });
  }
});
