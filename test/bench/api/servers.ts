import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { openSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { findFreePorts } from "../../../scripts/local/ports.ts";
import { readStack } from "../../fixtures/api.ts";
import { PUBLIC_URL, testVariables } from "../../fixtures/environment.ts";
import type { Target } from "./load.ts";

/** A server as a process of its own. */
export interface BenchServer extends Target {
  stop(): Promise<void>;
}

const START_POLL_MS = 50;
const PATIENCE_MS = 60_000;

/** A server that a process runs on a port of this machine. */
export function serverOf(child: ChildProcess, port: number): BenchServer {
  const exited = once(child, "exit");
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    async stop() {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

async function untilItAnswers(url: string, child: ChildProcess): Promise<void> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await fetch(url).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer !== undefined && answer.status < 500) return;
    if (child.exitCode !== null || performance.now() > giveUpAt) throw new Error(`${url} does not answer`);
    await sleep(START_POLL_MS);
  }
}

/** The environment of a process in production: the specification's limits and budgets, except for those that are given. */
async function productionEnvironment(databaseUri: string, variables: Record<string, string>) {
  const given = Object.entries(testVariables(await readStack()));
  const kept = Object.fromEntries(given.filter(([name]) => !name.startsWith("RATE_LIMIT_")));
  return {
    PATH: process.env["PATH"],
    ...kept,
    NODE_ENV: "production",
    PUBLIC_URL,
    LOG_LEVEL: "info",
    HOST: "127.0.0.1",
    TRUST_PROXY: "1",
    MONGODB_URI: databaseUri,
    ...variables,
  };
}

/** How a server of a bench runs. */
export interface BenchServerOptions {
  databaseUri: string;
  /** For its log, and for a CPU profile if `profile` is set. */
  dir: string;
  profile: boolean;
  /** Further variables of its environment. */
  variables?: Record<string, string>;
}

function startEntry(name: string, { dir, profile }: BenchServerOptions, env: NodeJS.ProcessEnv): ChildProcess {
  const flags = profile
    ? ["--cpu-prof", "--cpu-prof-dir", dir, `--cpu-prof-name=${name}-${Date.now()}.cpuprofile`]
    : [];
  return spawn(process.execPath, [...flags, `api/${name}.ts`], {
    stdio: ["ignore", openSync(join(dir, `${name}.log`), "w"), "inherit"],
    env,
  });
}

/**
 * Starts `api/server.ts` as in production, with the access log in a file. Only clients behind the one proxy that it
 * trusts can be told apart by address.
 */
export async function startApiServer(options: BenchServerOptions): Promise<BenchServer> {
  const port = await findFreePorts(1);
  const env = await productionEnvironment(options.databaseUri, { ...options.variables, PORT: String(port) });
  const child = startEntry("server", options, env);
  const server = serverOf(child, port);
  await untilItAnswers(`${server.url}/health`, child);
  return server;
}

/** Starts `api/worker.ts` as in production, with its log in a file. It may still be starting afterwards. */
export async function startWorkerProcess(options: BenchServerOptions): Promise<Omit<BenchServer, "url">> {
  return serverOf(startEntry("worker", options, await productionEnvironment(options.databaseUri, {})), 0);
}

/** Starts the floor on the same database. */
export function startFloor(mongodbUri: string, databaseName: string): Promise<BenchServer> {
  return startFloorProgram(join("test", "bench", "api", "floor.ts"), mongodbUri, databaseName);
}

/** Starts a program that writes its port once it listens. */
export async function startFloorProgram(program: string, ...given: readonly string[]): Promise<BenchServer> {
  const child = spawn(process.execPath, [program, ...given], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return serverOf(child, Number(line.toString()));
}
