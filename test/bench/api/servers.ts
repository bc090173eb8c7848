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

function serverOf(child: ChildProcess, port: number): BenchServer {
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

/**
 * Starts `api/server.ts` as in production: the specification's limits, and the access log in a file. Only clients behind
 * the one proxy that it trusts can be told apart by address.
 * @param dir for its log, and for a CPU profile if `profile` is set
 */
export async function startApiServer(databaseUri: string, dir: string, profile: boolean): Promise<BenchServer> {
  const variables = testVariables(await readStack());
  const kept = Object.entries(variables).filter(([name]) => !name.startsWith("RATE_LIMIT_"));
  const port = await findFreePorts(1);
  const flags = profile ? ["--cpu-prof", "--cpu-prof-dir", dir] : [];
  const child = spawn(process.execPath, [...flags, "api/server.ts"], {
    stdio: ["ignore", openSync(join(dir, "api.log"), "w"), "inherit"],
    env: {
      ...{ PATH: process.env["PATH"], ...Object.fromEntries(kept), NODE_ENV: "production", PUBLIC_URL },
      ...{ LOG_LEVEL: "info", HOST: "127.0.0.1", PORT: String(port), TRUST_PROXY: "1", MONGODB_URI: databaseUri },
    },
  });
  const server = serverOf(child, port);
  await untilItAnswers(`${server.url}/health`, child);
  return server;
}

/** Starts the floor on the same database. */
export async function startFloor(mongodbUri: string, databaseName: string): Promise<BenchServer> {
  const child = spawn(process.execPath, [join("test", "bench", "api", "floor.ts"), mongodbUri, databaseName], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return serverOf(child, Number(line.toString()));
}
