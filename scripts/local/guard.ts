/**
 * Stops the services of a stack whose own process was killed. The stack starts one guard in its own session and reports
 * over stdin which processes it has started (`add`) and seen exit (`remove`), one JSON object per line. When stdin
 * closes, the stack is gone, and the guard stops the processes still on its list, latest first.
 */
import { createInterface } from "node:readline";

import { endProcess } from "./process-identity.ts";
import type { ProcessIdentity, StopRule } from "./process-identity.ts";

/** One line to the guard. */
export type GuardMessage =
  { readonly add: string; readonly identity: ProcessIdentity; readonly stop: StopRule } | { readonly remove: string };

if (import.meta.main) {
  const guarded = new Map<string, { identity: ProcessIdentity; stop: StopRule }>();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
  for await (const line of createInterface({ input: process.stdin })) {
    const message = JSON.parse(line) as GuardMessage;
    if ("add" in message) guarded.set(message.add, { identity: message.identity, stop: message.stop });
    else guarded.delete(message.remove);
  }
  for (const { identity, stop } of [...guarded.values()].reverse()) await endProcess(identity, stop);
}
