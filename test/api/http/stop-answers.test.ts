// What callers get whose requests wait for a system that never answers, when the API is stopped.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import { MongoClient } from "mongodb";

import { readStack } from "../../fixtures/api.ts";
import { startApiProcess, startBehindDatabaseRoute } from "../../fixtures/api-process.ts";
import type { ApiProcess } from "../../fixtures/api-process.ts";
import { registrationBody } from "../../fixtures/sign-in.ts";
import { routeTo } from "../../fixtures/stall.ts";
import type { StallingRoute } from "../../fixtures/stall.ts";

const WALLET = "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc";

describe("an API that is stopped while a request waits for an answer that never comes", () => {
  const databaseName = `test_stop_${randomBytes(6).toString("hex")}`;
  let route: StallingRoute | undefined;
  let server: ApiProcess | undefined;

  afterEach(async () => {
    server?.kill();
    await route?.close();
  });
  after(async () => {
    const client = await MongoClient.connect((await readStack()).mongodbUri);
    await client.db(databaseName).dropDatabase();
    await client.close();
  });

  /** Starts an API that reaches a system by a route that can stall; the variable names the system. */
  async function startBehind(variable: string, address: string): Promise<ApiProcess> {
    const url = new URL(address);
    route = await routeTo(Number(url.port));
    url.port = String(route.port);
    server = await startApiProcess(databaseName, { [variable]: url.href });
    return server;
  }

  /** Sends a request whose question to the system gets lost, and stops the API then. */
  async function answerWhenStopped(api: ApiProcess, question: string, path: string, apiKey = "") {
    assert.ok(route !== undefined);
    const asked = route.stallAt(question);
    const answering = fetch(api.url + path, { headers: apiKey === "" ? {} : { "x-api-key": apiKey } });
    // Its failure is the test's own, below.
    answering.catch(() => undefined);
    await asked;
    const code = await api.stop();
    const answer = await answering;
    const { code: errorCode } = (await answer.json()) as { code: string };
    return { status: answer.status, errorCode, retryAfter: answer.headers.get("retry-after"), exitCode: code };
  }

  /** An agent that the API under test knows. */
  async function registerAt(api: ApiProcess): Promise<{ agentId: string; apiKey: string }> {
    const registered = await fetch(`${api.url}/api/v1/auth/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify((await registrationBody()).body),
    });
    return (await registered.json()) as { agentId: string; apiKey: string };
  }

  const inOrder = { status: 503, errorCode: "service_unavailable", retryAfter: "1", exitCode: 0 };

  it("answers 503 with Retry-After when it waits for the chain", async () => {
    const api = await startBehind("RPC_URL_BASE_SEPOLIA", (await readStack()).networks["base-sepolia"].rpcUrl);
    assert.deepEqual(await answerWhenStopped(api, "eth_call", `/api/v1/agents/score?address=${WALLET}`), inOrder);
  });

  it("answers 503 with Retry-After when it waits for the subgraph", async () => {
    const api = await startBehind(
      "SUBGRAPH_URL_BASE_SEPOLIA",
      (await readStack()).networks["base-sepolia"].subgraphUrl,
    );
    const { agentId, apiKey } = await registerAt(api);
    const path = `/api/v1/agents/${agentId}/discovery-score`;
    assert.deepEqual(await answerWhenStopped(api, "query", path, apiKey), inOrder);
  });

  it("answers 503 with Retry-After when it waits for the database", async () => {
    ({ api: server, route } = await startBehindDatabaseRoute(databaseName));
    assert.deepEqual(await answerWhenStopped(server, "agt_unknown", "/api/v1/agents/agt_unknown/public-key"), inOrder);
  });

  it("answers 503 with Retry-After although the database doesn't take the release of the call either", async () => {
    ({ api: server, route } = await startBehindDatabaseRoute(databaseName));
    const { apiKey } = await registerAt(server);
    assert.deepEqual(
      await answerWhenStopped(server, "txn_unknown", "/api/v1/transactions/txn_unknown", apiKey),
      inOrder,
    );
  });
});
