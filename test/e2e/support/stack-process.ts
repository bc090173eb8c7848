import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";

import { assert } from "chai";

import type { StackFacts } from "../../../scripts/local/facts.ts";
import { ROOT } from "../../../scripts/local/paths.ts";
import { isRunning } from "../../../scripts/local/process-identity.ts";
import type { ProcessIdentity } from "../../../scripts/local/process-identity.ts";
import { until } from "../../fixtures/until.ts";

/** Within which everything has ended after ctrl-C or a kill, on a machine that has no more work than cores. */
const END_TIMEOUT_MS = 10_000;

/** The same for this machine at the moment: one with three times the work that its cores can do takes three times as long. */
export function endTimeoutMs(): number {
  const [lastMinute = 0] = loadavg();
  return END_TIMEOUT_MS * Math.max(1, lastMinute / availableParallelism());
}

/** Names for `kill` beside those of the services. */
export const THE_STACK_ITSELF = "the stack itself";
export const ALL_AT_ONCE = "all at once";

/** How a start has ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
}

/** `npm start` as a process of its own, as a user has it. */
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

  /** The facts, once the stack is ready. */
  async ready(): Promise<StackFacts> {
    return await this.#facts;
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error("the stack could not be started");
    return this.#child.pid;
  }

  /** Processes that the stack has started and that still run, by service. */
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

  /** Lets a service do nothing more, as if its kill had come at this moment already. */
  freeze(service: string): void {
    process.kill(this.#pidOf(service), "SIGSTOP");
  }

  /** kill -9 of a service, of the process that watches over them, or of every process of the stack. */
  kill(victim: string): void {
    if (victim === THE_STACK_ITSELF) process.kill(this.pid, "SIGKILL");
    else if (victim === ALL_AT_ONCE) {
      for (const pid of [this.pid, ...[...this.services().values()].map((service) => service.pid)]) {
        process.kill(pid, "SIGKILL");
      }
    } else process.kill(this.#pidOf(victim), "SIGKILL");
  }

  /** Waits until no process of the stack runs any more; one that was killed itself leaves that to its guard. */
  async allEnded(): Promise<void> {
    await until("everything has ended", () => Promise.resolve(this.services().size === 0), endTimeoutMs());
  }

  #pidOf(service: string): number {
    const identity = this.services().get(service);
    assert.ok(identity !== undefined, `${service} runs`);
    return identity.pid;
  }
}

/** Waits until no process names the directory; those that stay are told with their command lines. */
export async function noProcessLeft(dir: string): Promise<void> {
  let left: string[] = [];
  const isEmpty = () => {
    left = processesNaming(dir);
    return Promise.resolve(left.length === 0);
  };
  // Helpers of a service are killed after it, and a kill is not done at once.
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
