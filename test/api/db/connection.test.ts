import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { assert } from "chai";
import { MongoClient } from "mongodb";

import { connectDatabase, DatabaseUnusableError } from "../../../api/db/connection.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { CACHE_DIR } from "../../../scripts/local/paths.ts";
import { findFreePorts } from "../../../scripts/local/ports.ts";
import { findMongo } from "../../../scripts/local/mongo.ts";
import { assertError, listingBody, startTestApi } from "../../fixtures/api.ts";
import { until } from "../../fixtures/until.ts";

const silent = createLogger({ level: "silent", name: "test" });

describe("database", () => {
  let dir: string;
  let replicaDir: string;
  /** Stops the servers that a test has started. */
  const servers: (() => void)[] = [];
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), "standalone-mongo-"));
    replicaDir = await mkdtemp(join(tmpdir(), "replica-mongo-"));
  });
  afterEach(() => {
    for (const end of servers.splice(0)) end();
  });
  after(() => Promise.all([dir, replicaDir].map((path) => rm(path, { recursive: true, force: true }))));

  async function initiate(port: number): Promise<void> {
    const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`);
    const members = [{ _id: 0, host: `127.0.0.1:${port}` }];
    await client.db("admin").command({ replSetInitiate: { _id: "rs0", members } });
    await until("a primary", async () => {
      return (await client.db("admin").command({ hello: 1 }))["isWritablePrimary"] === true;
    });
    await client.close();
  }

  it("a server without transactions is refused, with instructions", async () => {
    const source = await findMongo(CACHE_DIR, {}, () => undefined);
    assert.ok(source.kind === "binary", source.kind);
    const port = await findFreePorts(1);
    const mongod = spawn(
      source.path,
      ["--bind_ip", "127.0.0.1", "--port", String(port), "--dbpath", dir, "--nounixsocket", "--quiet"],
      { stdio: "ignore" },
    );
    servers.push(() => mongod.kill("SIGKILL"));
    const refusal = await refusalOf(
      `mongodb://127.0.0.1:${port}/?directConnection=true&serverSelectionTimeoutMS=15000`,
    );
    assert.ok(refusal instanceof DatabaseUnusableError);
    assert.match(refusal.message, /standalone server.*replSet/);
  });

  it("while the database is unavailable the API answers 503 with Retry-After, and it works again afterwards", async () => {
    const source = await findMongo(CACHE_DIR, {}, () => undefined);
    assert.ok(source.kind === "binary", source.kind);
    const port = await findFreePorts(1);
    const start = () => {
      const flags = ["--replSet", "rs0", "--bind_ip", "127.0.0.1", "--port", String(port), "--nounixsocket", "--quiet"];
      return spawn(source.path, [...flags, "--dbpath", replicaDir], { stdio: "ignore" });
    };
    let mongod = start();
    servers.push(() => mongod.kill("SIGKILL"));
    await initiate(port);
    const api = await startTestApi({
      search: true,
      env: { mongodbUri: `mongodb://127.0.0.1:${port}/?replicaSet=rs0` },
    });
    const { apiKey } = await api.registerAgent();

    mongod.kill("SIGKILL");
    const away = await api.request("GET", "/api/v1/services", { key: apiKey });
    assertError(away, 503, "service_unavailable");
    assert.ok(Number(away.headers.get("retry-after")) > 0);
    assert.strictEqual((await api.request("GET", "/health")).status, 200);
    assert.strictEqual((await api.request("GET", "/ready")).status, 503);

    mongod = start();
    await until("the API to go on", async () => {
      const answer = await api.request("GET", "/api/v1/services", { key: apiKey });
      return answer.status === 200;
    });
    const body = listingBody({ title: "Found after the outage", category: "other" });
    const created = await api.request("POST", "/api/v1/services", { key: apiKey, body });
    assert.strictEqual(created.status, 201);
    await until("the search index to follow again", async () => {
      const found = await api.request("POST", "/api/v1/discover", { body: { query: "found after the outage" } });
      return found.status === 200 && found.body[0]?.serviceId === created.body.data.id;
    });
    await api.close();
  });

  it("an address without a server is refused with the variable's name", async () => {
    const refusal = await refusalOf("mongodb://127.0.0.1:1/");
    assert.ok(refusal instanceof DatabaseUnusableError);
    assert.match(refusal.message, /MONGODB_URI/);
  });

  async function refusalOf(uri: string): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      const refusal = await connectDatabase(uri, silent).then(
        () => assert.fail("it was taken"),
        (error: unknown) => error,
      );
      // A server that is still starting doesn't answer yet.
      if (attempt === 5 || /standalone/.test(String(refusal)) || uri.includes(":1/")) return refusal;
      await sleep(500);
    }
  }
});
