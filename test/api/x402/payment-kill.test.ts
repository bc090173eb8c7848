// API processes that are killed, or stall, between two steps of a payment: reserve, run, settle, mark as spent.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import type { Connection } from "mongoose";

import { connectDatabase } from "../../../api/db/connection.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { listingBody, readStack } from "../../fixtures/api.ts";
import { startApiProcess } from "../../fixtures/api-process.ts";
import type { ApiProcess } from "../../fixtures/api-process.ts";
import { startFacilitator } from "../../fixtures/facilitator.ts";
import type { RunningFacilitator } from "../../fixtures/facilitator.ts";
import { CALL_UNITS, headerV1, headerV2, paymentSettings, signTransfer } from "../../fixtures/payments.ts";
import type { SignedTransfer } from "../../fixtures/payments.ts";
import { registrationBody } from "../../fixtures/sign-in.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { routeTo } from "../../fixtures/stall.ts";
import { until } from "../../fixtures/until.ts";

const log = createLogger({ level: "silent", name: "test" });
const THOUSAND_USDC = 1_000_000_000n;

/** A moment at which the process is killed: a message to the database, or a point of the facilitator's settlement. */
type Moment = { name: string; message: string } | { name: string; settlement: "before" | "after" };

/** Every other one with each version of x402: the steps are the same. */
const MOMENTS: readonly Moment[] = [
  { name: "before the payment is reserved", message: "clm_" },
  { name: "after the reservation, before the call's effect", message: "Invoice reconciliation" },
  { name: "after the call's effect, before its answer is kept", message: "x402_answers" },
  { name: "before the settlement", settlement: "before" },
  { name: "after the settlement, before it is known", settlement: "after" },
  { name: "before the payment is marked as spent", message: "spentAt" },
];

describe("a paid call whose process is killed", () => {
  const databaseName = `test_payment_${randomBytes(6).toString("hex")}`;
  const payTo = paymentSettings("base-sepolia").payTo ?? "0x";
  const processes: ApiProcess[] = [];
  let connection: Connection;
  let chain: TestChain;
  let usdc: `0x${string}`;
  /** Healthy: the one that the API uses after a kill. */
  let healthy: RunningFacilitator;
  let survivor: ApiProcess;

  before(async () => {
    connection = await connectDatabase((await readStack()).mongodbUri, log, databaseName);
    chain = await openChain("base-sepolia");
    usdc = chain.deployment.tokens.find(({ symbol }) => symbol === "USDC")?.address ?? "0x";
    healthy = await startFacilitator("base-sepolia");
    survivor = await start({ X402_FACILITATOR_URL: healthy.url });
  });
  after(async () => {
    for (const api of processes) api.kill();
    await healthy.close();
    await connection.dropDatabase();
    await connection.close();
  });

  async function start(variables: Record<string, string>): Promise<ApiProcess> {
    const api = await startApiProcess(databaseName, { X402_PAY_TO: payTo, BUDGET_API: "1", ...variables });
    processes.push(api);
    return api;
  }

  /** A registered agent with money and without budget. */
  async function brokeAgent() {
    const { account, body } = await registrationBody();
    const headers = { "content-type": "application/json" };
    const url = `${survivor.url}/api/v1/auth/register`;
    const registered = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    const { agentId, apiKey } = (await registered.json()) as { agentId: string; apiKey: string };
    await chain.endow(account, { usdc: THOUSAND_USDC });
    const used = await fetch(`${survivor.url}/api/v1/services`, { headers: { "x-api-key": apiKey } });
    assert.strictEqual(used.status, 200);
    return { agentId, apiKey, account };
  }

  async function create(url: string, apiKey: string, proof: Record<string, string>) {
    const headers = { "content-type": "application/json", "x-api-key": apiKey, ...proof };
    const body = JSON.stringify(listingBody());
    const answer = await fetch(`${url}/api/v1/services`, { method: "POST", headers, body });
    return { status: answer.status, body: (await answer.json()) as { code?: string; data?: { id: string } } };
  }

  /** Starts a process that announces the moment and gets no further. */
  async function stalled(moment: Moment) {
    if ("settlement" in moment) {
      const facilitator = await startFacilitator("base-sepolia");
      const { promise: reached, resolve } = Promise.withResolvers<undefined>();
      facilitator.intercept = async (path, settle) => {
        if (path !== "/settle") return undefined;
        if (moment.settlement === "after") await settle();
        resolve(undefined);
        return new Promise(() => undefined);
      };
      const api = await start({ X402_FACILITATOR_URL: facilitator.url });
      return { api, reached: (): Promise<unknown> => reached, close: () => facilitator.close() };
    }
    const { api, route } = await startBehindRoute();
    return { api, reached: () => route.stallAt(moment.message), close: () => route.close() };
  }

  /** Starts a process that reaches the database by a route that can stall. */
  async function startBehindRoute() {
    const direct = new URL((await readStack()).mongodbUri);
    const route = await routeTo(Number(direct.port));
    direct.port = String(route.port);
    direct.pathname = `/${databaseName}`;
    direct.searchParams.set("directConnection", "true");
    return { route, api: await start({ X402_FACILITATOR_URL: healthy.url, MONGODB_URI: direct.href }) };
  }

  for (const [version, header, moments] of [
    ["v1", (payload: SignedTransfer) => headerV1(payload), MOMENTS.filter((_, index) => index % 2 === 0)],
    [
      "v2",
      (payload: SignedTransfer) => headerV2({ chain, usdc, payTo }, payload),
      MOMENTS.filter((_, index) => index % 2 === 1),
    ],
  ] as const) {
    it(`${version}: is answered with the same proof, runs once and takes the money once, at each moment [D36]`, async () => {
      await Promise.all(
        moments.map(async (moment) => {
          const { agentId, apiKey, account } = await brokeAgent();
          const proof = header(await signTransfer({ chain, usdc, payTo }, account));
          const { api, reached, close } = await stalled(moment);
          const arrived = reached();
          const lost = create(api.url, apiKey, proof);
          lost.catch(() => undefined);
          await arrived;
          api.kill();
          await assert.isRejected(lost);
          await close();

          // Another process may only take over once the dead one's lease has ended.
          const answer = await until(`the proof counts that was killed ${moment.name}`, async () => {
            const result = await create(survivor.url, apiKey, proof);
            return result.status === 402 ? undefined : result;
          });
          assert.strictEqual(answer.status, 201, moment.name);
          assert.strictEqual((await create(survivor.url, apiKey, proof)).status, 402, moment.name);

          const listings = await connection.collection("listings").find({ sellerAgentId: agentId }).toArray();
          assert.deepEqual(
            listings.map(({ _id }) => String(_id)),
            [answer.body.data?.id],
            moment.name,
          );
          assert.strictEqual(THOUSAND_USDC - (await chain.usdcOf(account.address)), CALL_UNITS.api, moment.name);
          const claims = await connection.collection("x402_claims").find({ agentId }).toArray();
          assert.deepEqual(
            claims.map(({ state }) => String(state)),
            ["spent"],
            moment.name,
          );
        }),
      );
    });
  }

  it("takes no money if it stalled until its lease ended and a repeat has been paid for [D36] [D43]", async () => {
    const { agentId, apiKey, account } = await brokeAgent();
    const payment = async () => headerV1(await signTransfer({ chain, usdc, payTo }, account));
    const key = { "idempotency-key": "stalled" };
    const { api, route } = await startBehindRoute();
    try {
      const reached = route.stallAt("answerDue");
      const late = create(api.url, apiKey, { ...key, ...(await payment()) });
      late.catch(() => undefined);
      await reached;
      for (const collection of ["x402_claims", "idempotency_keys"]) {
        await connection.collection(collection).updateMany({}, { $set: { leaseEndsAt: new Date(0) } });
      }
      const repeat = await create(survivor.url, apiKey, { ...key, ...(await payment()) });
      assert.strictEqual(repeat.status, 201);
      route.resume();
      assert.strictEqual((await late).status, 402);
    } finally {
      api.kill();
      await route.close();
    }
    assert.strictEqual(await connection.collection("listings").countDocuments({ sellerAgentId: agentId }), 1);
    assert.strictEqual(THOUSAND_USDC - (await chain.usdcOf(account.address)), CALL_UNITS.api);
  });
});
