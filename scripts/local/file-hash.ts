import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";

import { ROOT } from "./paths.ts";

/**
 * A hash of all files below these paths, names included.
 * @param isLeftOut files below a folder that don't count, by their path in it
 */
export function hashFiles(paths: readonly string[], isLeftOut: (file: string) => boolean = () => false): string {
  const hash = createHash("sha256");
  for (const path of paths) {
    const files = statSync(path).isDirectory()
      ? readdirSync(path, { recursive: true, encoding: "utf8" })
          .filter((file) => !isLeftOut(file) && statSync(join(path, file)).isFile())
          .sort()
          .map((file) => join(path, file))
      : [path];
    for (const file of files) {
      hash
        .update(relative(ROOT, resolve(file)))
        .update("\0")
        .update(readFileSync(file))
        .update("\0");
    }
  }
  return hash.digest("hex");
}
