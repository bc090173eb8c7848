// Checks the pages of the repository: their length, long lines and sentences, links, and where they install our packages from.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

import { findProblems } from "./page-rules.ts";

/** Pages that programs write. */
const GENERATED = ["docs/api/errors.md", "docs/inside/conformance.md", "docs/inside/nightly.md"];
/** A record of all decisions. */
const LONG = ["docs/inside/decisions.md"];

const paths = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"], {
  encoding: "utf8",
});
const pages = paths
  .trim()
  .split("\n")
  .filter((path) => existsSync(path))
  .map((path) => ({
    path,
    text: readFileSync(path, "utf8"),
    isGenerated: GENERATED.includes(path),
    isLong: LONG.includes(path),
  }));

const problems = findProblems(pages, existsSync);
for (const problem of problems) console.log(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
