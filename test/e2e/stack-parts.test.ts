import { copyFileSync, chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { assert } from "chai";

import { apiService } from "../../scripts/local/api-service.ts";
import { chainStateFile, repairChainState } from "../../scripts/local/chain.ts";
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

  it("a server that was fetched before is taken, and why none before it was", async () => {
    const path = fakeServer(join(dir, "mongo"), "7.0.1");
    writeFileSync(join(dir, "mongo", "fetched.json"), JSON.stringify({ path, from: "official MongoDB download" }));
    assert.deepEqual(await findMongo(dir, nowhere, silent), {
      kind: "binary",
      path,
      description: "official MongoDB download, fetched before",
      notTaken: ["MONGODB_URI is not set", "no mongod on the PATH"],
    });
  });

  it("a mongod on the PATH comes before one that was fetched", async () => {
    const fetched = fakeServer(join(dir, "mongo"), "7.0.1");
    writeFileSync(join(dir, "mongo", "fetched.json"), JSON.stringify({ path: fetched, from: "somewhere" }));
    const path = fakeServer(join(dir, "bin"), "6.0.5");
    const source = await findMongo(dir, { ...nowhere, PATH: `/nonexistent:${dirname(path)}:/bin` }, silent);
    assert.ok(source.kind === "binary");
    assert.strictEqual(source.description, `mongod on the PATH (${path})`);
  });

  it("without any, the error gives each reason and names the four ways to one", async () => {
    const old = dirname(fakeServer(join(dir, "bin"), "4.4.1"));
    const { message } = await rejectionOf(findMongo(dir, { ...nowhere, PATH: old }, silent), NoMongoError);
    assert.match(message, /mongod is older than version 6\.0 \(db version v4\.4\.1\)/);
    assert.match(message, /none fetched before/);
    assert.match(message, /official MongoDB download: 127\.0\.0\.1:1 cannot be reached/);
    assert.match(message, /Python wheel .*python3/);
    assert.match(message, /set MONGODB_URI.*mongod of version 6\.0.*fastdl\.mongodb\.org.*Python 3 with pip/);
  });

  it("a MONGODB_URI that leads to a server without transactions is refused", async () => {
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

describe("what is started", () => {
  it("all services, or those named with what they need", () => {
    assert.deepEqual([...servicesToStart(undefined, {})], [...SERVICES]);
    assert.deepEqual(servicesToStart(["graph"], {}), new Set(["graph", "chains", "postgres"]));
    assert.deepEqual(servicesToStart(["worker"], {}), new Set(["worker", "chains", "graph", "postgres", "mongo"]));
  });

  it("what runs elsewhere by the environment is not started for a service that needs it", () => {
    const elsewhere = {
      RPC_URL_BASE_SEPOLIA: "http://chain",
      RPC_URL_BASE: "http://chain",
      SUBGRAPH_URL_BASE_SEPOLIA: "http://graph",
      SUBGRAPH_URL_BASE: "http://graph",
      MONGODB_URI: "mongodb://mongo",
    };
    assert.deepEqual(servicesToStart(["api", "worker"], elsewhere), new Set(["api", "worker"]));
    assert.deepEqual(servicesToStart(["chains"], elsewhere), new Set(["chains"]), "one that is named is started");
  });

  it("a service that does not exist is an error", () => {
    assert.throws(() => servicesToStart(["chain"], {}), UnknownServiceError);
  });

  it("on another platform the missing parts are named, with compose.yaml as the way on", () => {
    const mac = { platform: "darwin", arch: "arm64", env: {} } as const;
    const { message } = errorOf(() => {
      assertPlatform(new Set(SERVICES), mac);
    }, UnsupportedPlatformError);
    assert.match(message, /darwin-arm64: anvil \(chains\), Postgres, graph-node \(subgraph\), MongoDB/);
    assert.match(message, /docker compose up -d.*compose\.yaml/);
  });
});

describe("free ports", () => {
  it("go to one caller, although nothing listens on them yet", async () => {
    assert.notStrictEqual(await findFreePorts(2), await findFreePorts(2));
  });
});

describe("what the API is told", () => {
  const networks = (value: string) => ({ "base-sepolia": value, base: value });
  const options = {
    ...{ port: 3_000, mongodbUri: "mongodb://mongo", rpcUrls: networks("http://chain") },
    ...{ subgraphUrls: networks("http://graph"), deployments: networks("deployment.json") },
    secrets: { webhookSigningSecret: "the stack's own" },
  };
  const names = ["NODE_ENV", "PUBLIC_URL", "WEBHOOK_SIGNING_SECRET", "WEBHOOK_ALLOW_PRIVATE_HOSTS"];
  const told = (env: Record<string, string>) => names.map((name) => apiService(options, env).env?.[name]);

  it("is what the environment says, and where that is empty or silent the stack's own", () => {
    const own = ["development", "http://127.0.0.1:3000", "the stack's own", "127.0.0.1"];
    assert.deepEqual(told({}), own);
    assert.deepEqual(told(Object.fromEntries(names.map((name) => [name, ""]))), own);
    assert.deepEqual(
      told(Object.fromEntries(names.map((name) => [name, `given ${name}`]))),
      names.map((name) => `given ${name}`),
    );
  });
});

describe("the packages", () => {
  it("that exist for some platforms alone are optional: npm leaves them out elsewhere instead of giving up", () => {
    const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
      packages: Record<string, { os?: string[]; cpu?: string[]; libc?: string[]; optional?: boolean }>;
    };
    const bound = Object.entries(packages).filter(([, { os, cpu, libc }]) => (os ?? cpu ?? libc) !== undefined);
    assert.ok(bound.some(([path]) => path.endsWith("gnd-linux-x64")));
    assert.deepEqual(
      bound.filter(([, { optional }]) => optional !== true).map(([path]) => path),
      [],
    );
  });
});

describe("a chain whose state file a kill has cut short", () => {
  const whole = JSON.stringify({ block: { number: "0x5" } });

  it("goes back to the last whole copy", () => {
    const file = chainStateFile("base", dir);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(`${file}.bak`, whole);
    writeFileSync(file, whole.slice(0, 12));
    assert.strictEqual(repairChainState("base", dir), true);
    assert.strictEqual(readFileSync(file, "utf8"), whole);
  });

  it("is left alone when its state is whole", () => {
    const file = chainStateFile("base", dir);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, whole);
    copyFileSync(file, `${file}.bak`);
    assert.strictEqual(repairChainState("base", dir), false);
    assert.strictEqual(readFileSync(file, "utf8"), whole);
  });
});

/** A program that says that it is this version of the server. */
function fakeServer(folder: string, version: string): string {
  const path = join(folder, "mongod");
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, `#!/bin/sh\necho 'db version v${version}'\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Any answer of a server, or undefined while there is none. */
async function probe(port: number): Promise<string | undefined> {
  // A MongoDB server answers a web request with a sentence about its port.
  const response = await fetch(`http://127.0.0.1:${port}`);
  return await response.text();
}
