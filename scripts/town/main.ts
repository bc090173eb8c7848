// The scripted counterparties of `npm start -- --agents`, as a process of the local stack.
import { setTimeout as pause } from "node:timers/promises";

import { readArguments } from "../command/arguments.ts";
import { readStackFacts } from "../demo/stack-facts.ts";
import { Town } from "./town.ts";

const HELP = `usage: npm start -- --agents

Runs scripted buyers and sellers on the local stack. The stack starts this process itself.
  --stack FILE   facts of the stack
  --dir DIR      keeps the keys of the wallets
  --help         this text`;

const TURN_MS = 30_000;
/** A new listing is seen within this time. */
const WELCOME_MS = 5_000;
const SWEEP_MS = 300_000;

const { values } = readArguments(HELP, { stack: { type: "string" }, dir: { type: "string" } });

const log = (line: string): void => {
  process.stdout.write(`${new Date().toISOString()} ${line}\n`);
};

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    stop.abort();
  });
}

const publicUrl = process.env["PUBLIC_URL"] ?? "";
const town = await Town.open({
  facts: readStackFacts(values.stack ?? ""),
  dir: values.dir ?? ".",
  publicUrl: publicUrl === "" ? undefined : publicUrl,
  log,
});
log(`the town is open: ${String(town.sellers.length)} sellers and ${String(town.buyers.length)} buyers`);

/** Repeats a step, one after another, until the process is to end. */
async function repeat(everyMs: number, step: () => Promise<void>): Promise<void> {
  while (!stop.signal.aborted) {
    await step().catch((error: unknown) => {
      log(`a step failed: ${String(error)}`);
    });
    await pause(everyMs, undefined, { signal: stop.signal }).catch(() => undefined);
  }
}

const ended = new Promise<void>((resolve) => {
  stop.signal.addEventListener("abort", () => {
    resolve();
  });
});
const living = Promise.all([
  repeat(SWEEP_MS, () => town.sweep()),
  repeat(TURN_MS, () => town.turn()),
  repeat(WELCOME_MS, () => town.welcome()),
]);
await Promise.race([living, ended]);
await town.close();
process.exit(0);
