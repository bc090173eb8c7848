// What an API that is stopped finishes, and what it doesn't begin any more.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { Agent, request } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { Socket } from "node:net";

import { assert } from "chai";
import type { Connection } from "mongoose";

import { connectDatabase } from "../../../api/db/connection.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { listingBody, readStack } from "../../fixtures/api.ts";
import { startApiProcess, startBehindDatabaseRoute } from "../../fixtures/api-process.ts";
import type { ApiProcess } from "../../fixtures/api-process.ts";
import { startFacilitator } from "../../fixtures/facilitator.ts";
import type { RunningFacilitator } from "../../fixtures/facilitator.ts";
import { CALL_UNITS, headerV1, paymentSettings, signTransfer } from "../../fixtures/payments.ts";
import { registrationBody } from "../../fixtures/sign-in.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import type { StallingRoute } from "../../fixtures/stall.ts";
import { until } from "../../fixtures/until.ts";

const log = createLogger({ level: "silent", name: "test" });
const SERVICES = "/api/v1/services";
const FUNDS = 1_000_000n;
/** In the message that stores a listing. */
const LISTING = "Invoice reconciliation";

describe("an API that is stopped", () => {
  const databaseName = `test_stop_${randomBytes(6).toString("hex")}`;
  const payTo = paymentSettings("base-sepolia").payTo ?? "0x";
  const keepAlive = new Agent({ keepAlive: true });
  let connection: Connection;
  let facilitator: RunningFacilitator;
  let chain: TestChain;
  /** The service itself goes on: another process. */
  let survivor: ApiProcess;
  let route: StallingRoute;
  let api: ApiProcess;
  /** Keeps the server from closing before it cuts its connections. */
  let slow: Socket;

  before(async () => {
    connection = await connectDatabase((await readStack()).mongodbUri, log, databaseName);
    chain = await openChain("base-sepolia");
    facilitator = await startFacilitator("base-sepolia");
    survivor = await startApiProcess(databaseName, variables());
  });
  beforeEach(async () => {
    ({ api, route } = await startBehindDatabaseRoute(databaseName, variables()));
    slow = connect(Number(new URL(api.url).port), "127.0.0.1");
    slow.on("error", () => undefined);
    await once(slow, "connect");
  });
  afterEach(async () => {
    slow.destroy();
    api.kill();
    await route.close();
  });
  after(async () => {
    keepAlive.destroy();
    survivor.kill();
    await facilitator.close();
    await connection.dropDatabase();
    await connection.close();
  });

  const variables = () => ({ X402_PAY_TO: payTo, X402_FACILITATOR_URL: facilitator.url, BUDGET_API: "1" });
  const listings = (sellerAgentId: string) => connection.collection("listings").countDocuments({ sellerAgentId });

  async function register() {
    const { account, body } = await registrationBody();
    const answer = await post(survivor, "/api/v1/auth/register", body);
    const { agentId, apiKey } = (await answer.json()) as { agentId: string; apiKey: string };
    return { account, agentId, apiKey };
  }

  const post = (to: ApiProcess, path: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(to.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  const stops = () => until("it stops", () => Promise.resolve(api.log.some((line) => line.includes('"stopping"'))));

  it("answers what is in flight, and closes the connection with it", async () => {
    const { agentId } = await register();
    const reached = route.stallAt(agentId);
    const sent = request(`${api.url}/api/v1/agents/${agentId}/public-key`, { agent: keepAlive }).end();
    const answering = once(sent, "response") as Promise<[IncomingMessage]>;
    await reached;
    const stopped = api.stop();
    await stops();
    route.resume();
    const [answer] = await answering;
    const closed = once(answer.socket, "close");
    answer.resume();
    assert.deepEqual([answer.statusCode, answer.headers.connection], [200, "close"]);
    await closed;
    slow.destroy();
    assert.strictEqual(await stopped, 0);
  });

  it("begins no call after it has answered 503 for it", async () => {
    const { agentId, apiKey } = await register();
    slow.write("GET / HTTP/1.1\r\n");
    const reached = route.stallAt("agent_access");
    const answering = post(api, SERVICES, listingBody(), { "x-api-key": apiKey });
    await reached;
    const stopped = api.stop();
    assert.strictEqual((await answering).status, 503);
    route.resume();
    assert.strictEqual(await stopped, 0);
    assert.strictEqual(await listings(agentId), 0);
  });

  it("[D36] settles no payment after it has answered 503, and the same payment counts afterwards", async () => {
    const { account, agentId, apiKey } = await register();
    const usdc = chain.deployment.tokens.find(({ symbol }) => symbol === "USDC")?.address ?? "0x";
    await chain.endow(account, { usdc: FUNDS });
    await fetch(survivor.url + SERVICES, { headers: { "x-api-key": apiKey } });
    const headers = {
      "x-api-key": apiKey,
      ...headerV1(await signTransfer({ chain, usdc, payTo }, account)),
    };
    slow.write("GET / HTTP/1.1\r\n");
    const reached = route.stallAt(LISTING);
    const answering = post(api, SERVICES, listingBody(), headers);
    await reached;
    const stopped = api.stop();
    assert.strictEqual((await answering).status, 503);
    route.resume();
    assert.strictEqual(await stopped, 0);
    assert.notInclude(facilitator.seen, "/settle");

    await connection.collection("x402_claims").updateMany({}, { $set: { leaseEndsAt: new Date(0) } });
    const again = await post(survivor, SERVICES, listingBody(), headers);
    assert.strictEqual(again.status, 201);
    assert.strictEqual(await listings(agentId), 1);
    assert.strictEqual(FUNDS - (await chain.usdcOf(account.address)), CALL_UNITS.api);
  });
});
