// `npm run analyze`: static analysis of the contracts by solhint and slither.
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";

import { readArguments } from "../../command/arguments.ts";
import { type Outcome, run } from "../../testing/run.ts";
import { ACCEPTED } from "./accepted.ts";

const HELP = `usage: npm run analyze -- [--all]

Runs solhint and slither on contracts/, except mocks and third-party libraries. The first run installs slither into
.local/slither (Python 3 with venv and pip); without Python, slither is skipped with a message. The run fails on a finding
that scripts/quality/analysis/accepted.ts doesn't list with a reason, and on an entry there that matches no finding.
  --all   show the accepted findings too`;

const SLITHER = "slither-analyzer==0.11.6";
const VENV = join(".local", "slither");
const COPY = join(".local", "analyze");
const REPORT = join(COPY, "slither.json");
/** Detectors that don't apply here: the compiler version is fixed, and dependencies support several. */
const EXCLUDED = ["solc-version", "pragma"];

const { values } = readArguments(HELP, { all: { type: "boolean" } });

/** The used fields of a finding. */
interface Finding {
  check: string;
  impact: string;
  description: string;
  elements: { source_mapping?: { filename_relative: string } }[];
}

function demand(outcome: Outcome, what: string): void {
  if (outcome.code === 0) return;
  console.log(outcome.output);
  throw new Error(`${what} failed`);
}

async function installSlither(): Promise<boolean> {
  if (existsSync(join(VENV, "bin", "slither"))) return true;
  const python = await run("python3", ["--version"], { capture: true });
  if (python.code !== 0) return false;
  console.log(`Installing ${SLITHER} into ${VENV} (about a minute) …`);
  demand(await run("python3", ["-m", "venv", VENV], { capture: true }), "python3 -m venv");
  const pip = join(VENV, "bin", "pip");
  demand(await run(pip, ["install", "--quiet", SLITHER], { capture: true }), `pip install ${SLITHER}`);
  return true;
}

/** Slither reads build files and can't resolve paths in those of tests, so this compiles a copy without tests. */
async function analyze(): Promise<Finding[]> {
  rmSync(COPY, { recursive: true, force: true });
  mkdirSync(COPY, { recursive: true });
  for (const part of ["contracts", "deploy", "scripts", "package.json", "hardhat.config.ts"]) {
    cpSync(part, join(COPY, part), { recursive: true });
  }
  symlinkSync(resolve("node_modules"), join(COPY, "node_modules"));
  demand(await run("hardhat", ["--no-typechain", "build"], { cwd: COPY, capture: true }), "hardhat build");
  const slither = await run(
    resolve(VENV, "bin", "slither"),
    [".", "--hardhat-ignore-compile", "--exclude", EXCLUDED.join(","), "--json", resolve(REPORT)],
    { cwd: COPY, capture: true },
  );
  // The exit code depends on findings; only a missing report means failure.
  if (!existsSync(REPORT)) demand({ ...slither, code: 1 }, "slither");
  const report = JSON.parse(readFileSync(REPORT, "utf8")) as { results: { detectors?: Finding[] } };
  return (report.results.detectors ?? []).filter(isOurs);
}

function isOurs({ elements }: Finding): boolean {
  const files = elements.map((element) => element.source_mapping?.filename_relative ?? "");
  return (
    files.some((file) => file.startsWith("contracts/")) && !files.some((file) => file.startsWith("contracts/mocks/"))
  );
}

let failed = false;
const solhint = await run("solhint", ["--max-warnings", "0", ...globSync("contracts/**/*.sol")], { capture: true });
console.log(solhint.code === 0 ? "✓ solhint: no finding" : `✗ solhint:\n${solhint.output}`);
failed ||= solhint.code !== 0;

if (await installSlither()) {
  const findings = await analyze();
  const needed = new Set<(typeof ACCEPTED)[number]>();
  for (const finding of findings) {
    const entry = ACCEPTED.find(({ check, where }) => check === finding.check && where.test(finding.description));
    const [summary = ""] = finding.description.split("\n");
    if (entry === undefined) {
      failed = true;
      console.log(`✗ ${finding.impact} ${finding.check}: ${finding.description}`);
    } else {
      needed.add(entry);
      if (values.all === true)
        console.log(`  ${finding.impact} ${finding.check}: ${summary}\n    stays: ${entry.reason}`);
    }
  }
  for (const entry of ACCEPTED) {
    if (needed.has(entry)) continue;
    failed = true;
    console.log(`✗ accepted.ts names ${entry.check} ${String(entry.where)}, which slither does not find any more`);
  }
  console.log(`${failed ? "✗" : "✓"} slither: ${findings.length} findings in contracts/, all others are named above`);
} else {
  console.log("- slither: left out, python3 was not found");
}
process.exit(failed ? 1 : 0);
