import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { assert } from "chai";
import Koa from "koa";
import { MongoClient } from "mongodb";

import { routes } from "../../api/app.ts";
import { ChainUnavailableError } from "../../api/chain/errors.ts";
import { createRpc } from "../../api/chain/rpc.ts";
import { ConfigurationError, loadEnv } from "../../api/config/env.ts";
import { connectDatabase, DatabaseUnusableError } from "../../api/db/connection.ts";
import { ApiError, ERROR_CATALOGUE } from "../../api/http/errors.ts";
import type { ErrorCode } from "../../api/http/errors.ts";
import { requestContext } from "../../api/http/middleware/request-context.ts";
import { systemClock } from "../../api/lib/clock.ts";
import { createLogger } from "../../api/lib/logger.ts";
import { CACHE_DIR } from "../../scripts/local/paths.ts";
import { findFreePorts } from "../../scripts/local/ports.ts";
import { findMongo } from "../../scripts/local/mongo.ts";
import { assertError, listingBody, readStack, startTestApi } from "../fixtures/api.ts";
import { errorOf } from "../fixtures/rejection.ts";
import { until } from "../fixtures/until.ts";

const silent = createLogger({ level: "silent", name: "test" });
const complete = {
  MONGODB_URI: "mongodb://127.0.0.1:1/?replicaSet=rs0",
  RPC_URL_BASE_SEPOLIA: "http://127.0.0.1:8545",
  RPC_URL_BASE: "http://127.0.0.1:8546",
  SUBGRAPH_URL_BASE_SEPOLIA: "http://127.0.0.1:8000/a",
  SUBGRAPH_URL_BASE: "http://127.0.0.1:8000/b",
};
const STRONG_SECRET = "0123456789abcdef0123456789abcdef";

describe("configuration", () => {
  it("has defaults for everything but the addresses of what it needs", () => {
    const env = loadEnv(complete);
    assert.deepEqual(
      [env.mode, env.host, env.port, env.publicUrl],
      ["development", "127.0.0.1", 3_000, "http://127.0.0.1:3000"],
    );
    assert.strictEqual(
      loadEnv({ ...complete, PUBLIC_URL: "https://market.example/" }).publicUrl,
      "https://market.example",
    );
  });

  it("names every variable that is missing or wrong", () => {
    const wrong = {
      ...complete,
      MONGODB_URI: undefined,
      RPC_URL_BASE: "",
      PORT: "70000",
      LOG_LEVEL: "loud",
      SUBGRAPH_URL_BASE: "x",
    };
    const { message } = errorOf(() => loadEnv(wrong), ConfigurationError);
    for (const part of [
      "MONGODB_URI is missing",
      "RPC_URL_BASE is missing",
      "PORT",
      "LOG_LEVEL",
      "SUBGRAPH_URL_BASE",
    ]) {
      assert.include(message, part);
    }
  });

  it("tells the address of a subgraph to nobody unless it is on loopback or meant for everyone", () => {
    const told = (fields: Record<string, string>) => loadEnv({ ...complete, ...fields }).publicSubgraphUrls;
    assert.deepEqual(told({}), { "base-sepolia": "http://127.0.0.1:8000/a", base: "http://127.0.0.1:8000/b" });
    for (const loopback of ["http://localhost:8000/a", "http://127.0.0.2/a", "http://[::1]:8000/a"]) {
      assert.strictEqual(told({ SUBGRAPH_URL_BASE: loopback }).base, loopback);
    }
    const secret = [
      "https://gateway.example/api/0123456789abcdef/subgraphs/id/x",
      "http://10.0.0.5:8000/subgraphs/name/x",
      "http://127.0.0.1.example/key/x",
      "http://localhost.example/key/x",
      "http://user:secret@127.0.0.1:8000/x",
    ];
    for (const address of secret) {
      assert.strictEqual(told({ SUBGRAPH_URL_BASE: address }).base, null, address);
      const SUBGRAPH_PUBLIC_URL_BASE = "https://query.example/subgraphs/x";
      assert.strictEqual(told({ SUBGRAPH_URL_BASE: address, SUBGRAPH_PUBLIC_URL_BASE }).base, SUBGRAPH_PUBLIC_URL_BASE);
    }
    for (const wrong of ["nowhere", "https://user:secret@query.example/x"]) {
      assert.throws(() => told({ SUBGRAPH_PUBLIC_URL_BASE_SEPOLIA: wrong }), /SUBGRAPH_PUBLIC_URL_BASE_SEPOLIA/);
    }
  });

  it("[S6.35] production does not start without the webhook signing secret, nor with a weak one", () => {
    for (const secret of [undefined, "", " , ", "short", `${STRONG_SECRET},short`]) {
      const env = { ...complete, NODE_ENV: "production", WEBHOOK_SIGNING_SECRET: secret };
      assert.throws(() => loadEnv(env), /WEBHOOK_SIGNING_SECRET/);
    }
    const env = loadEnv({
      ...complete,
      NODE_ENV: "production",
      WEBHOOK_SIGNING_SECRET: `${STRONG_SECRET}, ${STRONG_SECRET}2`,
    });
    assert.deepEqual(env.webhookSigningSecrets, [STRONG_SECRET, `${STRONG_SECRET}2`]);
  });
});

describe("errors", () => {
  it("[S7.21] docs/errors.md says that a 403 that is not JSON may be a CDN's block, and names each code", async () => {
    const page = await readFile(new URL("../../docs/errors.md", import.meta.url), "utf8");
    assert.match(page, /403 that is not JSON/);
    assert.match(page, /bot protection/);
    for (const code of Object.keys(ERROR_CATALOGUE)) assert.ok(page.includes(`\`${code}\``), code);
  });

  it("[S7.21] each 403 of the service is JSON", async () => {
    const refusals = Object.entries(ERROR_CATALOGUE).filter(([, { status }]) => status === 403);
    assert.ok(refusals.length >= 3);
    for (const [code, { text }] of refusals) {
      const app = new Koa();
      app.use(requestContext(silent, systemClock, () => undefined) as Koa.Middleware);
      app.use(() => {
        throw new ApiError(code as ErrorCode);
      });
      const server = app.listen(0, "127.0.0.1");
      await once(server, "listening");
      const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
      const body = await answer.text();
      server.closeAllConnections();
      server.close();
      assert.strictEqual(answer.status, 403);
      assert.match(answer.headers.get("content-type") ?? "", /^application\/json\b/, code);
      assert.deepEqual(JSON.parse(body), { success: false, error: text, code });
    }
  });

  it("codes are snake_case with a client or server error status, and every route names known ones", () => {
    for (const [code, { status, text }] of Object.entries(ERROR_CATALOGUE)) {
      assert.match(code, /^[a-z]+(_[a-z0-9]+)*$/);
      assert.ok(status >= 400 && status < 600 && text.length > 0, code);
    }
    for (const { path, errors } of routes) {
      for (const code of errors) assert.ok(code in ERROR_CATALOGUE, `${path}: ${code}`);
    }
  });
});

describe("logs", () => {
  it("secrets never reach the log", () => {
    const lines: string[] = [];
    const log = createLogger({ level: "info", name: "test", destination: { write: (line) => lines.push(line) } });
    const secret = "svc_secret-that-nobody-may-read";
    log.info({ apiKey: secret, headers: { authorization: secret, "x-api-key": secret, "x-payment": secret } }, "one");
    log.info({ body: { signature: secret, deep: { privateKey: secret, plaintext: secret } } }, "two");
    assert.strictEqual(lines.length, 2);
    assert.ok(!lines.join("").includes(secret), lines.join(""));
  });

  it("the keys that providers put into addresses never reach the log with an error", async () => {
    const lines: string[] = [];
    const log = createLogger({ level: "info", name: "test", destination: { write: (line) => lines.push(line) } });
    const rpcUrl = "http://user:pass-7f3a@127.0.0.1:9/v2/key-7f3a?token=query-7f3a";
    const rpc = createRpc({ network: "base", rpcUrl, timeoutMs: 500, attempts: 1 });
    const error: unknown = await rpc((client) => client.getChainId()).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof ChainUnavailableError);
    log.error({ err: error }, "one");
    log.error({ err: error.cause }, "two");
    log.error({ err: new Error("cannot reach mongodb://admin:pass-7f3a@db.example:27017/market?x=1") }, "three");
    log.error({ err: "a text alone" }, "four");
    assert.strictEqual(lines.length, 4);
    assert.notMatch(lines.join(""), /7f3a/);
    assert.match(lines[0] ?? "", /ChainUnavailableError.*http:\/\/127\.0\.0\.1:9\//s);
    assert.match(lines[2] ?? "", /db\.example:27017/);
    assert.match(lines[3] ?? "", /a text alone/);
  });
});

describe("database", () => {
  let dir: string;
  let replicaDir: string;
  /** Ends the servers that a test has started. */
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

  it("a server without transactions is refused with what to do", async () => {
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

  it("while the database is away the API answers 503 with Retry-After, and goes on when it is back", async () => {
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
    const api = await startTestApi({ env: { mongodbUri: `mongodb://127.0.0.1:${port}/?replicaSet=rs0` } });
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

  it("an address where no server is, is refused with the variable's name", async () => {
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
      // A server that is still starting answers nobody yet.
      if (attempt === 5 || /standalone/.test(String(refusal)) || uri.includes(":1/")) return refusal;
      await sleep(500);
    }
  }
});

describe("processes", () => {
  /** Shorter than a client may keep its connection; longer than a busy machine needs. */
  const ENDS_WITHIN_MS = 30_000;
  const databaseName = `test_process_${process.pid}`;
  after(async () => {
    const connection = await connectDatabase((await readStack()).mongodbUri, silent, databaseName);
    await connection.dropDatabase();
    await connection.close();
  });

  const main = (file: string) => new URL(`../../api/${file}`, import.meta.url).pathname;

  async function environment(): Promise<Record<string, string>> {
    const stack = await readStack();
    const uri = new URL(stack.mongodbUri);
    uri.pathname = `/${databaseName}`;
    return {
      PATH: process.env["PATH"] ?? "",
      ...{ PORT: String(await findFreePorts(1)), MONGODB_URI: uri.href, WEBHOOK_SIGNING_SECRET: STRONG_SECRET },
      RPC_URL_BASE_SEPOLIA: stack.networks["base-sepolia"].rpcUrl,
      RPC_URL_BASE: stack.networks.base.rpcUrl,
      SUBGRAPH_URL_BASE_SEPOLIA: stack.networks["base-sepolia"].subgraphUrl,
      SUBGRAPH_URL_BASE: stack.networks.base.subgraphUrl,
      DEPLOYMENT_BASE_SEPOLIA: stack.deployments["base-sepolia"],
      DEPLOYMENT_BASE: stack.deployments.base,
    };
  }

  function run(file: string, env: Record<string, string>) {
    const child = spawn(process.execPath, [main(file)], { env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const ended = new Promise<number | null>((resolve) => child.on("exit", resolve));
    const said = async (text: string): Promise<void> => {
      for (let waited = 0; !output.includes(text); waited += 50) {
        assert.ok(waited < 45_000 && child.exitCode === null, `${file} did not say "${text}": ${output}`);
        await sleep(50);
      }
    };
    return { child, ended, said, output: () => output };
  }

  it("the API starts, answers and ends within seconds of SIGTERM, also with a connection kept open", async () => {
    const env = await environment();
    const api = run("server.ts", env);
    await api.said("API listens");
    const answer = await fetch(`http://127.0.0.1:${env["PORT"]}/health`);
    assert.strictEqual(answer.status, 200);
    const startedAt = performance.now();
    api.child.kill("SIGTERM");
    assert.strictEqual(await api.ended, 0, api.output());
    assert.ok(performance.now() - startedAt < ENDS_WITHIN_MS);
  });

  it("two workers run beside each other on one database and end at SIGINT", async () => {
    const env = await environment();
    const workers = [run("worker.ts", env), run("worker.ts", env)];
    for (const worker of workers) await worker.said("worker runs");
    for (const worker of workers) worker.child.kill("SIGINT");
    assert.deepEqual(
      await Promise.all(workers.map(({ ended }) => ended)),
      [0, 0],
      workers.map(({ output }) => output()).join("\n"),
    );
  });

  it("[S6.35] in production API and worker refuse to start without the signing secret and say so", async () => {
    const env = { ...(await environment()), NODE_ENV: "production", WEBHOOK_SIGNING_SECRET: "" };
    for (const file of ["server.ts", "worker.ts"]) {
      const started = run(file, env);
      assert.notStrictEqual(await started.ended, 0, file);
      assert.match(started.output(), /WEBHOOK_SIGNING_SECRET is missing/, file);
    }
  });

  it("without deployed contracts the API refuses to start and says what to do", async () => {
    const dir = await mkdtemp(join(tmpdir(), "deployments-"));
    const file = join(dir, "broken.json");
    await writeFile(file, "{}");
    const env = await environment();
    for (const path of [join(dir, "absent.json"), file]) {
      const api = run("server.ts", { ...env, DEPLOYMENT_BASE: path });
      assert.notStrictEqual(await api.ended, 0);
      assert.ok(api.output().includes(path), api.output());
    }
    await rm(dir, { recursive: true });
  });

  it("a taken port ends the API with the port in its message", async () => {
    const env = await environment();
    const holder = createServer().listen(Number(env["PORT"]), "127.0.0.1");
    const api = run("server.ts", env);
    assert.notStrictEqual(await api.ended, 0);
    assert.ok(api.output().includes(env["PORT"] ?? "?"), api.output());
    holder.close();
  });
});
