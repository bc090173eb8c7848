import {
  copyFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { assert } from "chai";

import { apiService, workerService } from "../../scripts/local/api-service.ts";
import { chainService, chainStateFile, repairChainState, rpc } from "../../scripts/local/chain.ts";
import { NoMongoError, UnusableMongoError, findMongo, mongoService } from "../../scripts/local/mongo.ts";
import { CACHE_DIR } from "../../scripts/local/paths.ts";
import { UnsupportedPlatformError, assertPlatform } from "../../scripts/local/platform.ts";
import { findFreePorts } from "../../scripts/local/ports.ts";
import { SERVICES, UnknownServiceError, servicesToStart } from "../../scripts/local/services.ts";
import { Supervisor } from "../../scripts/local/supervisor.ts";
import { errorOf, rejectionOf } from "../fixtures/rejection.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "marketplace-parts-"));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

describe("where MongoDB comes from", () => {
  const nowhere = { PATH: "", MONGOMS_DOWNLOAD_MIRROR: "http://127.0.0.1:1" };
  const silent = (): void => undefined;

  it("uses a server that was fetched before, and reports why it used no other", async () => {
    const path = fakeServer(join(dir, "mongo"), "7.0.1");
    writeFileSync(join(dir, "mongo", "fetched.json"), JSON.stringify({ path, from: "official MongoDB download" }));
    assert.deepEqual(await findMongo(dir, nowhere, silent), {
      kind: "binary",
      path,
      description: "official MongoDB download, fetched before",
      notTaken: ["MONGODB_URI is not set", "no mongod on the PATH"],
    });
  });

  it("prefers a mongod on the PATH to a fetched one", async () => {
    const fetched = fakeServer(join(dir, "mongo"), "7.0.1");
    writeFileSync(join(dir, "mongo", "fetched.json"), JSON.stringify({ path: fetched, from: "somewhere" }));
    const path = fakeServer(join(dir, "bin"), "6.0.5");
    const source = await findMongo(dir, { ...nowhere, PATH: `/nonexistent:${dirname(path)}:/bin` }, silent);
    assert.ok(source.kind === "binary");
    assert.strictEqual(source.description, `mongod on the PATH (${path})`);
  });

  it("without a server, reports each reason and the four ways to get one", async () => {
    const old = dirname(fakeServer(join(dir, "bin"), "4.4.1"));
    const { message } = await rejectionOf(findMongo(dir, { ...nowhere, PATH: old }, silent), NoMongoError);
    assert.match(message, /mongod is older than version 6\.0 \(db version v4\.4\.1\)/);
    assert.match(message, /none fetched before/);
    assert.match(message, /official MongoDB download: 127\.0\.0\.1:1 cannot be reached/);
    assert.match(message, /Python wheel .*python3/);
    assert.match(message, /set MONGODB_URI.*mongod of version 6\.0.*fastdl\.mongodb\.org.*Python 3 with pip/);
  });

  it("rejects a MONGODB_URI whose server has no transactions", async () => {
    const source = await findMongo(CACHE_DIR, { ...process.env, MONGODB_URI: "" }, silent);
    assert.ok(source.kind === "binary");
    const port = await findFreePorts(1);
    const asReplicaSet = mongoService(source.path, dir, port);
    const supervisor = await Supervisor.open(dir, silent);
    const args = asReplicaSet.args.filter((argument) => argument !== "--replSet" && argument !== "rs0");
    await supervisor.start({ ...asReplicaSet, args, isReady: async () => (await probe(port)) !== undefined });
    try {
      const uri = `mongodb://127.0.0.1:${port}`;
      const { message } = await rejectionOf(findMongo(dir, { MONGODB_URI: uri }, silent), UnusableMongoError);
      assert.match(message, /neither a member of a replica set nor a sharded cluster/);
    } finally {
      await supervisor.stop();
    }
  });
});

describe("the services to start", () => {
  it("are all services, or the given ones and those that they need", () => {
    assert.deepEqual([...servicesToStart(undefined, {})], [...SERVICES]);
    assert.deepEqual(servicesToStart(["graph"], {}), new Set(["graph", "chains", "postgres"]));
    assert.deepEqual(servicesToStart(["worker"], {}), new Set(["worker", "chains", "graph", "postgres", "mongo"]));
  });

  it("leave out what runs elsewhere according to the environment", () => {
    const elsewhere = {
      RPC_URL_BASE_SEPOLIA: "http://chain",
      RPC_URL_BASE: "http://chain",
      SUBGRAPH_URL_BASE_SEPOLIA: "http://graph",
      SUBGRAPH_URL_BASE: "http://graph",
      MONGODB_URI: "mongodb://mongo",
    };
    assert.deepEqual(servicesToStart(["api", "worker"], elsewhere), new Set(["api", "worker"]));
    assert.deepEqual(servicesToStart(["chains"], elsewhere), new Set(["chains"]), "a given service is started anyway");
  });

  it("can't be unknown ones", () => {
    assert.throws(() => servicesToStart(["chain"], {}), UnknownServiceError);
  });

  it("must be available for the platform; the error points to compose.yaml", () => {
    const mac = { platform: "darwin", arch: "arm64", env: {} } as const;
    const { message } = errorOf(() => {
      assertPlatform(new Set(SERVICES), mac);
    }, UnsupportedPlatformError);
    assert.match(message, /darwin-arm64: anvil \(chains\), Postgres, graph-node \(subgraph\), MongoDB/);
    assert.match(message, /docker compose up -d.*compose\.yaml/);
  });
});

describe("free ports", () => {
  it("go to one caller, even before anything listens on them", async () => {
    assert.notStrictEqual(await findFreePorts(2), await findFreePorts(2));
  });
});

describe("the environment of the API", () => {
  const networks = (value: string) => ({ "base-sepolia": value, base: value });
  const options = {
    port: 3_000,
    ownsChains: true,
    mongodbUri: "mongodb://mongo",
    rpcUrls: networks("http://chain"),
    subgraphUrls: networks("http://graph"),
    deployments: networks("deployment.json"),
    searchDir: "search",
    downloadsDir: "downloads",
    webDir: "web",
    secrets: { webhookSigningSecret: "the stack's own" },
  };
  const names = ["NODE_ENV", "PUBLIC_URL", "WEBHOOK_SIGNING_SECRET", "WEBHOOK_ALLOW_PRIVATE_HOSTS"];
  const told = (env: Record<string, string>) => names.map((name) => apiService(options, env).env?.[name]);

  it("is that of the stack, with the stack's own values for empty and missing variables", () => {
    const own = ["development", "http://127.0.0.1:3000", "the stack's own", "127.0.0.1"];
    assert.deepEqual(told({}), own);
    assert.deepEqual(told(Object.fromEntries(names.map((name) => [name, ""]))), own);
    assert.deepEqual(
      told(Object.fromEntries(names.map((name) => [name, `given ${name}`]))),
      names.map((name) => `given ${name}`),
    );
  });

  it("opens the faucet on chains of its own, but never in production", () => {
    const flag = (env: Record<string, string>, ownsChains = true) =>
      apiService({ ...options, ownsChains }, env).env?.["LOCAL_STACK"];
    assert.strictEqual(flag({}), "true");
    assert.strictEqual(flag({ LOCAL_STACK: "false" }), "false");
    assert.strictEqual(flag({ NODE_ENV: "production" }), "false");
    assert.strictEqual(flag({}, false), "false");
  });

  it("gives the worker a metrics port of its own, the next one", () => {
    const portsOf = (env: Record<string, string>) =>
      [apiService(options, env), workerService(options, env, dir)].map((service) => {
        // What the supervisor starts a service with.
        const { METRICS_PORT: port } = { ...env, ...service.env };
        return port;
      });
    assert.deepEqual(portsOf({ METRICS_PORT: "9464" }), ["9464", "9465"]);
    assert.deepEqual(portsOf({ METRICS_PORT: "0" }), ["0", "0"], "any free port");
    assert.deepEqual(portsOf({ METRICS_PORT: "" }), ["", ""]);
    assert.deepEqual(portsOf({}), [undefined, undefined]);
  });
});

/** The search engine names them all, instead of naming none. */
const SYSTEMS = ["darwin", "linux", "win32"];
const PROCESSORS = ["arm64", "x64"];

describe("the packages", () => {
  it("are optional when they are for single platforms, so that npm skips them elsewhere", () => {
    const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
      packages: Record<string, { os?: string[]; cpu?: string[]; libc?: string[]; optional?: boolean }>;
    };
    const runsEverywhere = ({
      os = SYSTEMS,
      cpu = PROCESSORS,
      libc,
    }: {
      os?: string[];
      cpu?: string[];
      libc?: string[];
    }) =>
      libc === undefined &&
      SYSTEMS.every((name) => os.includes(name)) &&
      PROCESSORS.every((name) => cpu.includes(name));
    const bound = Object.entries(packages).filter(([, wanted]) => !runsEverywhere(wanted));
    assert.ok(bound.some(([path]) => path.endsWith("gnd-linux-x64")));
    assert.deepEqual(
      bound.filter(([, { optional }]) => optional !== true).map(([path]) => path),
      [],
    );
  });
});

describe("the state file of a chain after a kill", () => {
  const whole = JSON.stringify({ block: { number: "0x5" } });

  it("is replaced by the last complete copy when it is truncated", () => {
    const file = chainStateFile("base", dir);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(`${file}.bak`, whole);
    writeFileSync(file, whole.slice(0, 12));
    assert.strictEqual(repairChainState("base", dir), true);
    assert.strictEqual(readFileSync(file, "utf8"), whole);
  });

  it("stays when it is complete", () => {
    const file = chainStateFile("base", dir);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, whole);
    copyFileSync(file, `${file}.bak`);
    assert.strictEqual(repairChainState("base", dir), false);
    assert.strictEqual(readFileSync(file, "utf8"), whole);
  });
});

describe("the history of a chain", () => {
  it("reaches back as far as the deepest reorganisation, and writes nothing outside the stack's directory", async () => {
    const port = await findFreePorts(1);
    const home = join(dir, "home");
    mkdirSync(home);
    const supervisor = await Supervisor.open(dir, () => undefined);
    await supervisor.start({ ...chainService("base", dir, port, true), env: { HOME: home } });
    try {
      // Beyond the 1,500 states that anvil would keep in memory before it writes files.
      await rpc(port, "anvil_mine", ["0x6a4"]);
      const head = Number(await rpc(port, "eth_blockNumber", []));
      assert.isAtLeast(head, 1_700);
      await rpc(port, "anvil_rollback", [256]);
      await rpc(port, "eth_getBalance", [`0x${"1".repeat(40)}`, `0x${(head - 256).toString(16)}`]);
      const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      assert.deepEqual(files, []);
    } finally {
      await supervisor.stop();
    }
  });
});

/** A program that reports this server version. */
function fakeServer(folder: string, version: string): string {
  const path = join(folder, "mongod");
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, `#!/bin/sh\necho 'db version v${version}'\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Any answer of a server, or undefined while there is none. */
async function probe(port: number): Promise<string | undefined> {
  // A MongoDB server answers HTTP requests with a hint about its port.
  const response = await fetch(`http://127.0.0.1:${port}`);
  return await response.text();
}
