// How long a request waits for the service at most.
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

import { assert } from "chai";

import { assertError, readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { faultyDatabase } from "../../fixtures/faults.ts";
import type { FaultyRoute } from "../../fixtures/faults.ts";

const LIMIT_MS = 1_000;

describe("a request that the service doesn't answer in time", () => {
  let database: FaultyRoute;
  let patient: TestApi;
  let api: TestApi;
  let agent: TestAgent;

  before(async () => {
    patient = await startTestApi();
    agent = await patient.registerAgent();
    database = await faultyDatabase((await readStack()).mongodbUri);
    api = await startTestApi({
      oneProcess: "the faults are between this process and its database",
      databaseName: patient.container.connection.name,
      env: { mongodbUri: database.url },
      timings: { answerLimitMs: LIMIT_MS },
    });
  });
  after(async () => {
    database.fail(0, "hangs");
    await api.close();
    await patient.close();
    await database.close();
  });

  const write = (value: number) =>
    api.request("POST", "/api/v1/memory", { key: agent.apiKey, body: { key: "plan", value } });

  it("because the database hangs, before or after the command arrives, gets 503 with Retry-After", async () => {
    for (const kind of ["hangs", "mute"] as const) {
      database.fail(1, kind);
      const answer = await write(1);
      assertError(answer, 503, "service_unavailable");
      assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/);
    }
  });

  it("begins no further step after its answer: nothing is written later", async () => {
    // The admission hangs, so the handler never begins.
    database.fail(1, "hangs");
    assertError(await write(7), 503, "service_unavailable");
    assert.strictEqual(database.calls, 1);
    const read = await patient.request("GET", "/api/v1/memory/plan", { key: agent.apiKey });
    assert.notStrictEqual(read.body?.data?.value, 7);
  });

  it("doesn't get 503 while its own body is on its way", async () => {
    database.fail(0, "hangs");
    const body = JSON.stringify({ key: "slow", value: 1 });
    const { hostname, port } = new URL(api.ownUrl);
    const socket = connect(Number(port), hostname);
    let received = "";
    socket.on("data", (chunk) => (received += chunk.toString("utf8")));
    const head = ["POST /api/v1/memory HTTP/1.1", "Host: test", "Connection: close", "Content-Type: application/json"];
    head.push(`X-API-Key: ${agent.apiKey}`, `Content-Length: ${Buffer.byteLength(body)}`, "", body.slice(0, 5));
    socket.write(head.join("\r\n"));
    // What the client takes for its body: more than the service may take.
    await pause(2 * LIMIT_MS);
    assert.strictEqual(received, "");
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.write(body.slice(5));
    await closed;
    assert.match(received, /^HTTP\/1\.1 (201|503) /);
  });
});
