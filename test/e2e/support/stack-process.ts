import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";

import { assert } from "chai";

import { chainStateFile } from "../../../scripts/local/chain.ts";
import type { StackFacts } from "../../../scripts/local/facts.ts";
import type { NetworkName } from "../../../scripts/local/networks.ts";
import { ROOT } from "../../../scripts/local/paths.ts";
import { isRunning } from "../../../scripts/local/process-identity.ts";
import type { ProcessIdentity } from "../../../scripts/local/process-identity.ts";
import { until } from "../../fixtures/until.ts";

/** Limit for the end of all processes after ctrl-C or a kill, on a machine that isn't overloaded. */
const END_TIMEOUT_MS = 10_000;

/** The same limit at the machine's present load: it grows with the load per core. */
export function endTimeoutMs(): number {
  const [lastMinute = 0] = loadavg();
  return END_TIMEOUT_MS * Math.max(1, lastMinute / availableParallelism());
}

/** Victims of `kill` other than a service. */
export const THE_STACK_ITSELF = "the stack itself";
export const ALL_AT_ONCE = "all at once";

/** How the process ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
}

/** `npm start` as a process of its own. */
export class StackProcess {
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  readonly #dir: string;
  readonly #facts: Promise<StackFacts>;
  #output = "";

  constructor(dir: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.#dir = dir;
    this.#child = spawn(process.execPath, [join(ROOT, "scripts", "start.ts"), "--json", "--dir", dir, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, PORT: "", ...env },
    });
    const facts = Promise.withResolvers<StackFacts>();
    this.#facts = facts.promise;
    this.#facts.catch(() => undefined);
    this.#child.stderr?.on("data", (text: Buffer) => (this.#output += text.toString()));
    let printed = "";
    this.#child.stdout?.on("data", (text: Buffer) => {
      printed += text.toString();
      if (printed.endsWith("\n")) facts.resolve(JSON.parse(printed) as StackFacts);
    });
    this.ended = new Promise((resolve) => {
      this.#child.once("close", (code, signal) => {
        facts.reject(new Error(`the stack did not start:\n${this.#output}`));
        resolve({ code, signal, output: this.#output });
      });
    });
  }

  /** Waits until the stack is ready and returns its facts. */
  async ready(): Promise<StackFacts> {
    return await this.#facts;
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error("the stack could not be started");
    return this.#child.pid;
  }

  /** The stack's running processes by service. */
  services(): Map<string, ProcessIdentity> {
    const found = new Map<string, ProcessIdentity>();
    for (const file of readdirSync(join(this.#dir, "run")).filter((name) => name.endsWith(".json"))) {
      const { identity } = JSON.parse(readFileSync(join(this.#dir, "run", file), "utf8")) as {
        identity: ProcessIdentity;
      };
      if (isRunning(identity)) found.set(file.slice(0, -".json".length), identity);
    }
    return found;
  }

  /** Ends it as ctrl-C does. */
  interrupt(): void {
    this.#child.kill("SIGINT");
  }

  /** Suspends a service, so that it does nothing more before it is killed. */
  freeze(service: string): void {
    process.kill(this.#pidOf(service), "SIGSTOP");
  }

  /** Kills a service, the stack's own process, or every process of the stack with SIGKILL. */
  kill(victim: string): void {
    if (victim === THE_STACK_ITSELF) process.kill(this.pid, "SIGKILL");
    else if (victim === ALL_AT_ONCE) {
      for (const pid of [this.pid, ...[...this.services().values()].map((service) => service.pid)]) {
        process.kill(pid, "SIGKILL");
      }
    } else process.kill(this.#pidOf(victim), "SIGKILL");
  }

  /** Waits until every process of the stack has ended. If the stack's own was killed, its guard ends the others. */
  async allEnded(): Promise<void> {
    await until("everything has ended", () => Promise.resolve(this.services().size === 0), endTimeoutMs());
  }

  #pidOf(service: string): number {
    const identity = this.services().get(service);
    assert.ok(identity !== undefined, `${service} runs`);
    return identity.pid;
  }
}

/** Waits until both copies of a chain's state have a block, because a kill may truncate the newer one. */
export async function isOnDisk(dir: string, network: NetworkName, block: bigint): Promise<void> {
  await until(`block ${String(block)} of ${network} is on disk`, () => {
    const copy = `${chainStateFile(network, dir)}.bak`;
    if (!existsSync(copy)) return Promise.resolve(false);
    const { best_block_number: head } = JSON.parse(readFileSync(copy, "utf8")) as { best_block_number: number };
    return Promise.resolve(BigInt(head) >= block);
  });
}

/** Waits until no process names the directory; the error lists the command lines of the rest. */
export async function noProcessLeft(dir: string): Promise<void> {
  let left: string[] = [];
  const isEmpty = () => {
    left = processesNaming(dir);
    return Promise.resolve(left.length === 0);
  };
  // The helpers of a service are killed after it, and a kill takes effect with a delay.
  await until("no process is left", isEmpty, endTimeoutMs()).catch(() => undefined);
  assert.deepEqual(left, [], "no process is left");
}

/** Command lines of all processes that name the directory. */
function processesNaming(dir: string): string[] {
  const found: string[] = [];
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)) {
    try {
      const commandLine = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      if (commandLine.includes(dir)) found.push(`${pid} ${commandLine}`);
    } catch {
      // Ended while the list was read.
    }
  }
  return found;
}
