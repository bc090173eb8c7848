import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

import { identify, isRunning } from "./process-identity.ts";
import type { ProcessIdentity } from "./process-identity.ts";

/**
 * Takes a lock file for this process. One whose holder has ended, however it ended, counts as free.
 * @returns nothing when the lock is taken, else the process that holds it
 */
export function takeLock(file: string): ProcessIdentity | undefined {
  const self = identify(process.pid);
  if (self === undefined) throw new Error("The local stack needs /proc to tell its processes apart.");
  mkdirSync(dirname(file), { recursive: true });
  for (;;) {
    try {
      writeFileSync(file, JSON.stringify(self), { flag: "wx" });
      return undefined;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      const holder = readHolder(file);
      if (holder !== undefined && isRunning(holder)) return holder;
      rmSync(file, { force: true });
    }
  }
}

/**
 * Waits until no other process holds the lock, then does the work under it.
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

function readHolder(file: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as ProcessIdentity;
  } catch {
    // Given back meanwhile, or a kill in the middle of the write: nobody holds it.
    return undefined;
  }
}
