import { randomBytes } from "node:crypto";
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import pg from "pg";

import { PROGRAMS } from "./paths.ts";
import { isPidRunning, killProcessesIn } from "./process-identity.ts";
import type { JobDefinition, RunJob, ServiceDefinition } from "./supervisor.ts";

/** User and group `nobody`, because Postgres refuses to run as root. */
const NOBODY = 65_534;
/** How long the helper processes of a killed server may take to end by themselves, and then after they are killed. */
const HELPERS_END_MS = 5_000;
const DATABASE = "graph";
const USER = "graph";

type Launch = Pick<JobDefinition, "command" | "args" | "uid" | "gid">;

/** Postgres from its npm package, on loopback, in `<dir>/postgres`. */
export class LocalPostgres {
  readonly #folder: string;
  readonly #port: number;
  readonly #isDisposable: boolean;

  /** @param isDisposable doesn't wait until its data is on disk, so that it may be lost with the machine */
  constructor(dir: string, port: number, isDisposable = false) {
    this.#isDisposable = isDisposable;
    this.#folder = join(dir, "postgres");
    this.#port = port;
  }

  /**
   * Creates the data directory once.
   * @param run runs a job and rejects when it fails
   */
  async initialise(run: RunJob): Promise<void> {
    const data = this.#dataDir;
    if (existsSync(data)) return;
    const unfinished = `${data}.new`;
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished, { recursive: true, mode: 0o700 });
    const passwordFile = join(this.#folder, "password");
    if (!existsSync(passwordFile)) {
      writeFileSync(passwordFile, randomBytes(24).toString("hex"), { mode: 0o600 });
    }
    if (isRoot()) for (const path of [unfinished, passwordFile]) chownSync(path, NOBODY, NOBODY);
    const launch = this.#launch("initdb", [
      ...["-D", unfinished, "-U", USER, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C"],
      ...["--no-sync", `--pwfile=${passwordFile}`],
    ]);
    await run({ name: "postgres-init", ...launch, env: LOCALE });
    renameSync(unfinished, data);
  }

  /**
   * Removes the lock file of a killed server. Postgres does so itself, but treats an ended process as running until its
   * parent has reaped it, which in a container may never happen.
   */
  async removeStaleLock(): Promise<void> {
    const lockFile = join(this.#dataDir, "postmaster.pid");
    if (!existsSync(lockFile)) return;
    const lines = readFileSync(lockFile, "utf8").split("\n");
    if (isPidRunning(Number(lines[0]))) return;
    const memoryId = lines[6]?.trim().split(/ +/)[1];
    const hasEnded = async (): Promise<boolean> => {
      const giveUpAt = Date.now() + HELPERS_END_MS;
      while (memoryId !== undefined && isMemoryInUse(memoryId)) {
        if (Date.now() > giveUpAt) return false;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return true;
    };
    // Its helper processes notice its end and exit; until then they may still write. One that waits for a lock of another
    // one, which has exited, waits for ever. Killing it is safe: nobody writes any more, and Postgres recovers from its log.
    if (!(await hasEnded())) {
      killProcessesIn(this.#dataDir);
      if (!(await hasEnded())) return;
    }
    rmSync(lockFile);
  }

  get service(): ServiceDefinition {
    const settings = [
      ...["listen_addresses=127.0.0.1", "unix_socket_directories=", `port=${String(this.#port)}`],
      ...["shared_buffers=64MB", "max_connections=120", "max_wal_size=256MB"],
      ...(this.#isDisposable ? ["fsync=off", "synchronous_commit=off", "full_page_writes=off"] : []),
    ];
    return {
      name: "postgres",
      ...this.#launch("postgres", ["-D", this.#dataDir, ...settings.flatMap((setting) => ["-c", setting])]),
      env: LOCALE,
      stage: 0,
      // Fast shutdown: close open connections and flush the data.
      stop: { signal: "SIGINT", timeoutMs: 4_000 },
      isReady: async () => await this.#createDatabase(),
    };
  }

  /** The address of graph-node's database. */
  get url(): string {
    return this.#urlOf(DATABASE);
  }

  /** Runs statements on graph-node's database. */
  async query(sql: string, values: readonly unknown[] = []): Promise<pg.QueryResult> {
    return await this.#query(DATABASE, sql, values);
  }

  get #dataDir(): string {
    return join(this.#folder, "data");
  }

  async #createDatabase(): Promise<boolean> {
    const found = await this.#query("postgres", `SELECT 1 FROM pg_database WHERE datname = '${DATABASE}'`);
    if (found.rowCount === 0) await this.#query("postgres", `CREATE DATABASE ${DATABASE}`);
    return true;
  }

  #urlOf(database: string): string {
    const password = readFileSync(join(this.#folder, "password"), "utf8");
    return `postgresql://${USER}:${password}@127.0.0.1:${String(this.#port)}/${database}`;
  }

  async #query(database: string, sql: string, values: readonly unknown[] = []): Promise<pg.QueryResult> {
    const client = new pg.Client({
      connectionString: this.#urlOf(database),
      connectionTimeoutMillis: CONNECTED_WITHIN_MS,
    });
    // A server that stops between two calls must not crash the stack through an unhandled event.
    client.on("error", () => undefined);
    await client.connect();
    try {
      return await client.query(sql, [...values]);
    } finally {
      await client.end();
    }
  }

  /**
   * How to run one of the programs: directly as an ordinary user, as `nobody` when we are root. When `nobody` can't
   * enter the parent folders (a checkout in /root), it keeps the one root capability that allows it to.
   */
  #launch(program: "initdb" | "postgres", args: readonly string[]): Launch {
    const binary = PROGRAMS[program];
    if (!isRoot()) return { command: binary, args };
    if (isOpenToAll(dirname(binary)) && isOpenToAll(this.#folder)) {
      return { command: binary, args, uid: NOBODY, gid: NOBODY };
    }
    const setpriv = ["/usr/bin/setpriv", "/bin/setpriv"].find((path) => existsSync(path));
    if (setpriv === undefined) {
      throw new Error(
        `Postgres does not run as root, and no other user may enter ${this.#folder}. Move the checkout to a folder that ` +
          "all users may enter, or run as an ordinary user, or install util-linux (setpriv), or start the services of compose.yaml.",
      );
    }
    const privileges = [
      ...["--reuid", String(NOBODY), "--regid", String(NOBODY), "--clear-groups"],
      // access(2), which Postgres uses to check its programs, respects the capability only with this bit.
      ...["--securebits", "+no_setuid_fixup"],
      ...["--inh-caps=-all,+dac_override", "--ambient-caps=-all,+dac_override"],
    ];
    return { command: setpriv, args: [...privileges, "--", binary, ...args] };
  }
}

/** Long enough for a machine that is busy with other things: a refused connection is noticed at once anyway. */
const CONNECTED_WITHIN_MS = 20_000;

/** Forces English messages. */
const LOCALE = { LC_ALL: "C", LC_MESSAGES: "C" } as const;

/** True while a process is attached to a System V shared memory segment. */
function isMemoryInUse(id: string): boolean {
  const [head, ...rows] = readFileSync("/proc/sysvipc/shm", "utf8").trim().split("\n");
  const names = head?.trim().split(/ +/) ?? [];
  const row = rows.map((line) => line.trim().split(/ +/)).find((cells) => cells[names.indexOf("shmid")] === id);
  return row !== undefined && row[names.indexOf("nattch")] !== "0";
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** True when every user may traverse all folders down to this one. */
function isOpenToAll(path: string): boolean {
  for (let folder = path; ; folder = dirname(folder)) {
    if (existsSync(folder) && (statSync(folder).mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}
