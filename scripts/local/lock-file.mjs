// Lock files that survive the death of their holder. Plain JavaScript without packages, for Node 18 and newer: the
// bootstrap uses it before anything is installed.
//
// Not proper-lockfile: the bootstrap runs before any package is there, and a lock of a killed holder must be free at once,
// not when its timestamp has gone stale.
import { createHash, randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Takes a lock file, or gives what its holder has written into it. See lock-file.d.mts. */
export function takeLockFile(file, content, isFree) {
  mkdirSync(dirname(file), { recursive: true });
  // A link appears with its content, so nobody ever sees a lock that says nothing yet.
  const own = `${file}.${process.pid}-${randomUUID()}`;
  writeFileSync(own, content);
  try {
    for (;;) {
      if (link(own, file)) return undefined;
      const found = read(file);
      if (found === undefined) continue; // given back between the two looks
      if (!isFree(found)) return found;
      // Several may see the same dead holder. Only the one that holds its succession may replace it, and only while it
      // still stands there: the next one to look finds a living holder. The succession is a lock like any other.
      const succession = `${file}.after-${createHash("sha256").update(found).digest("hex").slice(0, 16)}`;
      const rival = takeLockFile(succession, content, isFree);
      if (rival !== undefined) return rival;
      try {
        if (read(file) !== found) continue;
        renameSync(own, file);
        return undefined;
      } finally {
        rmSync(succession, { force: true });
      }
    }
  } finally {
    rmSync(own, { force: true });
  }
}

/** Gives a lock file back, unless it has passed to another. See lock-file.d.mts. */
export function giveLockFile(file, content) {
  if (read(file) === content) rmSync(file, { force: true });
}

function link(from, to) {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    return false;
  }
}

function read(file) {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    return undefined;
  }
}
