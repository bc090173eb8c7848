import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import type { GuardMessage } from "./guard.ts";
import { takeLock } from "./lock.ts";
import { endProcess, identify, isRunning, waitForEnd } from "./process-identity.ts";
import type { ProcessIdentity, StopRule } from "./process-identity.ts";

/** A process that runs as long as the stack. */
export interface ServiceDefinition {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Run as this user and group; requires root. */
  readonly uid?: number;
  readonly gid?: number;
  /** Services of a higher stage use those of a lower one and stop before them. */
  readonly stage: number;
  readonly stop: StopRule;
  /** Polled until it returns true. A thrown error counts as not ready. */
  readonly isReady: () => Promise<boolean>;
  /** Milliseconds; 60,000 by default. */
  readonly readyTimeoutMs?: number;
}

/** A process that does one thing and ends. */
export type JobDefinition = Pick<ServiceDefinition, "name" | "command" | "args" | "env" | "cwd" | "uid" | "gid">;

/** Runs a job and returns its output; rejects when it fails. */
export type RunJob = (job: JobDefinition) => Promise<string>;

/** Thrown when a service or a job ended by itself or did not become ready; the message holds its last log lines. */
export class ServiceFailedError extends Error {
  readonly service: string;

  constructor(service: string, reason: string, logFile: string, lastLines: string) {
    super(`${service} ${reason}. Its log is ${logFile}${lastLines === "" ? "." : `; the end of it:\n${lastLines}`}`);
    this.name = "ServiceFailedError";
    this.service = service;
  }
}

/** Thrown when a stack already runs on the same directory. */
export class StackRunningError extends Error {
  constructor(dir: string, pid: number) {
    super(
      `A stack already runs on ${dir} (process ${String(pid)}). End that one first, or give this one another --dir.`,
    );
    this.name = "StackRunningError";
  }
}

/** Thrown by pending operations when the stack stops. */
export class StackStoppedError extends Error {
  constructor() {
    super("The stack was stopped.");
    this.name = "StackStoppedError";
  }
}

interface Started {
  readonly definition: Pick<ServiceDefinition, "name" | "stage" | "stop">;
  readonly identity: ProcessIdentity;
  readonly child: ChildProcess;
  readonly logFile: string;
  /** True once it is being stopped on purpose. */
  ending: boolean;
}

interface RunRecord {
  readonly identity: ProcessIdentity;
  readonly stop: StopRule;
}

const GUARD = "guard";
// It exits by itself once it has stopped what it guards.
const GUARD_STOP: StopRule = { signal: "SIGTERM", timeoutMs: 3_000 };
const JOB_STOP: StopRule = { signal: "SIGTERM", timeoutMs: 2_000 };
const JOB_STAGE = 99;
const LAST_LINES = 12;

// Not execa or concurrently: their children outlive a kill -9, and a second run neither finds nor ends them.
/**
 * Starts, watches and stops the processes of one stack. Each is recorded under `<dir>/run`, so that the next start can
 * stop what a crash left behind, and logs to `<dir>/logs/<name>.log`. Each process leads its own session, so a ctrl-C
 * in the terminal reaches only the supervisor, which then stops them in order.
 */
export class Supervisor {
  readonly #dir: string;
  readonly #started = new Map<string, Started>();
  readonly #failed = Promise.withResolvers<never>();
  readonly #stopped = new AbortController();
  #guard: ChildProcess | undefined;
  #stopping: Promise<void> | undefined;

  private constructor(dir: string) {
    this.#dir = dir;
    // Those who await `failure` get the error. Without them it must not crash the process.
    this.#failed.promise.catch(() => undefined);
  }

  /**
   * Claims the directory for this process and stops what an earlier stack left running there.
   * @throws StackRunningError when a live stack holds the directory
   */
  static async open(dir: string, log: (line: string) => void): Promise<Supervisor> {
    mkdirSync(join(dir, "run"), { recursive: true });
    mkdirSync(join(dir, "logs"), { recursive: true });
    const supervisor = new Supervisor(dir);
    const holder = takeLock(supervisor.#lockFile);
    if (holder !== undefined) throw new StackRunningError(dir, holder.pid);
    await supervisor.#endLeftovers(log);
    supervisor.#startGuard();
    return supervisor;
  }

  /** Rejects with a ServiceFailedError when a service ends by itself. Never resolves. */
  get failure(): Promise<never> {
    return this.#failed.promise;
  }

  /** Aborted with a StackStoppedError as soon as the stack begins to stop. */
  get stopped(): AbortSignal {
    return this.#stopped.signal;
  }

  /** Ids of the running processes by service, including the guard's. */
  get pids(): Record<string, number> {
    const pids = Object.fromEntries([...this.#started].map(([name, { identity }]) => [name, identity.pid]));
    return this.#guard?.pid === undefined ? pids : { ...pids, guard: this.#guard.pid };
  }

  /**
   * Starts a service and waits until it is ready.
   * @throws ServiceFailedError when it ends or is not ready in time
   * @throws StackStoppedError when `stop` is called meanwhile
   */
  async start(definition: ServiceDefinition): Promise<void> {
    const started = this.#spawn(definition, definition);
    const timeoutMs = definition.readyTimeoutMs ?? 60_000;
    const giveUpAt = Date.now() + timeoutMs;
    started.child.once("exit", (code, signal) => {
      if (started.ending) return;
      this.#forget(started);
      this.#failed.reject(failure(started, `ended by itself (${describeExit(code, signal)})`));
    });
    for (;;) {
      if (this.#stopping !== undefined) throw new StackStoppedError();
      if (!isAlive(started.child)) {
        throw failure(
          started,
          `ended while starting (${describeExit(started.child.exitCode, started.child.signalCode)})`,
        );
      }
      if (await definition.isReady().catch(() => false)) return;
      if (Date.now() > giveUpAt) throw failure(started, `was not ready after ${String(timeoutMs / 1000)} s`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  /**
   * Runs a job and returns its output.
   * @throws ServiceFailedError when it exits with a code other than 0
   */
  async run(definition: JobDefinition): Promise<string> {
    const started = this.#spawn(definition, { ...definition, stage: JOB_STAGE, stop: JOB_STOP });
    const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
      started.child.once("exit", (...exit) => {
        resolve(exit);
      });
    });
    this.#forget(started);
    if (this.#stopping !== undefined) throw new StackStoppedError();
    if (code !== 0) throw failure(started, `failed (${describeExit(code, signal)})`);
    return readFileSync(started.logFile, "utf8");
  }

  /** Stops all services, highest stage first, and releases the directory. May be called repeatedly. */
  async stop(log: (line: string) => void = () => undefined): Promise<void> {
    this.#stopped.abort(new StackStoppedError());
    this.#stopping ??= this.#stopAll(log);
    await this.#stopping;
  }

  async #stopAll(log: (line: string) => void): Promise<void> {
    const stages = [...new Set([...this.#started.values()].map(({ definition }) => definition.stage))];
    for (const stage of stages.sort((a, b) => b - a)) {
      const wave = [...this.#started.values()].filter(({ definition }) => definition.stage === stage);
      await Promise.all(
        wave.map(async (started) => {
          started.ending = true;
          const how = await endProcess(started.identity, started.definition.stop);
          if (how === "killed") log(`${started.definition.name} did not end in time and was killed`);
          this.#forget(started);
        }),
      );
    }
    await this.#endGuard();
    rmSync(this.#lockFile, { force: true });
  }

  #spawn(definition: JobDefinition, rule: Started["definition"]): Started {
    if (this.#stopping !== undefined) throw new StackStoppedError();
    const logFile = join(this.#dir, "logs", `${definition.name}.log`);
    if (existsSync(logFile)) renameSync(logFile, `${logFile}.1`);
    const logFd = openSync(logFile, "a");
    const child = spawn(definition.command, definition.args, {
      cwd: definition.cwd,
      env: { ...process.env, ...definition.env },
      detached: true,
      // The log is the child's own descriptor, so it keeps working when this process is killed.
      stdio: ["ignore", logFd, logFd],
      ...(definition.uid === undefined ? {} : { uid: definition.uid }),
      ...(definition.gid === undefined ? {} : { gid: definition.gid }),
    });
    closeSync(logFd);
    child.on("error", () => undefined);
    const identity = child.pid === undefined ? undefined : identify(child.pid);
    if (identity === undefined) {
      throw new ServiceFailedError(definition.name, `could not be started (${definition.command})`, logFile, "");
    }
    const started = { definition: rule, identity, child, logFile, ending: false };
    this.#started.set(definition.name, started);
    this.#record(definition.name, { identity, stop: rule.stop });
    this.#tellGuard({ add: definition.name, identity, stop: rule.stop });
    return started;
  }

  #forget(started: Started): void {
    const { name } = started.definition;
    if (this.#started.get(name) !== started) return;
    this.#started.delete(name);
    rmSync(this.#recordFile(name), { force: true });
    this.#tellGuard({ remove: name });
  }

  get #lockFile(): string {
    return join(this.#dir, "run", "stack.lock");
  }

  #recordFile(name: string): string {
    return join(this.#dir, "run", `${name}.json`);
  }

  /** Writes a record as a whole: a reader, or a kill, never meets half of one. */
  #record(name: string, record: RunRecord): void {
    const file = this.#recordFile(name);
    writeFileSync(`${file}.new`, JSON.stringify(record));
    renameSync(`${file}.new`, file);
  }

  async #endLeftovers(log: (line: string) => void): Promise<void> {
    const names = readdirSync(join(this.#dir, "run")).filter((file) => file.endsWith(".json"));
    await Promise.all(
      names.map(async (file) => {
        const path = join(this.#dir, "run", file);
        const record = readRecord(path);
        if (record !== undefined) {
          if (isRunning(record.identity)) {
            log(`ending ${file.slice(0, -5)} (process ${record.identity.pid}), left by a stack that was killed`);
          }
          await endProcess(record.identity, record.stop);
        }
        rmSync(path, { force: true });
      }),
    );
  }

  #startGuard(): void {
    this.#guard = spawn(process.execPath, [join(import.meta.dirname, "guard.ts")], {
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    // Without its guard the stack still works; only a kill -9 would leave processes to the next start.
    this.#guard.on("error", () => undefined);
    this.#guard.stdin?.on("error", () => undefined);
    this.#guard.unref();
    const identity = this.#guard.pid === undefined ? undefined : identify(this.#guard.pid);
    if (identity === undefined) return;
    this.#record(GUARD, { identity, stop: GUARD_STOP });
  }

  async #endGuard(): Promise<void> {
    const record = readRecord(this.#recordFile(GUARD));
    this.#guard?.stdin?.end();
    if (record !== undefined) await waitForEnd(record.identity, GUARD_STOP.timeoutMs);
    rmSync(this.#recordFile(GUARD), { force: true });
  }

  #tellGuard(message: GuardMessage): void {
    if (this.#guard?.stdin?.writable === true) this.#guard.stdin.write(`${JSON.stringify(message)}\n`);
  }
}

function isAlive(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

function describeExit(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `exit code ${String(code)}` : `signal ${signal}`;
}

function failure(started: Started, reason: string): ServiceFailedError {
  return new ServiceFailedError(started.definition.name, reason, started.logFile, lastLines(started.logFile));
}

function readRecord(path: string): RunRecord | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as RunRecord;
  } catch {
    // A kill during the write leaves an unreadable record, which names no process.
    return undefined;
  }
}

/** The last lines of a log, without reading all of a long one. */
function lastLines(path: string): string {
  const fd = openSync(path, "r");
  try {
    const { size } = fstatSync(fd);
    const buffer = Buffer.alloc(Math.min(size, 8_192));
    readSync(fd, buffer, 0, buffer.length, size - buffer.length);
    return buffer.toString("utf8").trimEnd().split("\n").slice(-LAST_LINES).join("\n");
  } finally {
    closeSync(fd);
  }
}
