// Lock files that can be taken over from a dead holder. Plain JavaScript without packages, for Node 18 and later,
// because the bootstrap uses it before anything is installed.
//
// Not proper-lockfile: it is a package itself, and it frees a killed holder's lock only when the timestamp is stale.
import { createHash, randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Takes a lock file, or returns its holder's content. See lock-file.d.mts. */
export function takeLockFile(file, content, isFree) {
  mkdirSync(dirname(file), { recursive: true });
  // A link appears together with its content, so nobody ever sees an empty lock.
  const own = `${file}.${process.pid}-${randomUUID()}`;
  writeFileSync(own, content);
  try {
    for (;;) {
      if (link(own, file)) return undefined;
      const found = read(file);
      if (found === undefined) continue; // released between the two reads
      if (!isFree(found)) return found;
      // Several processes may see the same dead holder. Only the one with the succession lock may replace it, and only
      // if it is still there. The succession lock is a lock like any other.
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

/** Releases a lock file, unless another holder has taken it. See lock-file.d.mts. */
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
