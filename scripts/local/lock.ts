import { rmSync } from "node:fs";

import { takeLockFile } from "./lock-file.mjs";
import { identify, isRunning } from "./process-identity.ts";
import type { ProcessIdentity } from "./process-identity.ts";

/**
 * Takes a lock file for this process. A lock whose holder has ended counts as free.
 * @returns undefined when the lock was taken, else the process that holds it
 */
export function takeLock(file: string): ProcessIdentity | undefined {
  const self = identify(process.pid);
  if (self === undefined) throw new Error("The local stack needs /proc to tell its processes apart.");
  const holder = takeLockFile(file, JSON.stringify(self), (content) => {
    const found = parseHolder(content);
    return found === undefined || !isRunning(found);
  });
  return holder === undefined ? undefined : parseHolder(holder);
}

/**
 * Waits until no other process holds the lock, then runs `work` under it.
 * @throws the signal's reason when it is aborted while waiting
 */
export async function withLock<T>(file: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  while (takeLock(file) !== undefined) {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** Parses a lock's content; undefined when this program didn't write it. */
function parseHolder(content: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(content) as ProcessIdentity;
  } catch {
    return undefined;
  }
}
