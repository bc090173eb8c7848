// `npm run coverage`: which lines of the contracts the tests run, and which outcomes of conditions they see.
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { readArguments } from "../../command/arguments.ts";
import { run } from "../../testing/run.ts";
import { type Condition, markConditions } from "./conditions.ts";
import { LEFT_OUT, TESTS_LEFT_OUT } from "./left-out.ts";

const HELP = `usage: npm run coverage -- [--json]

Runs the Mocha tests of the contracts with Hardhat's --coverage on a copy of the project under .local/coverage and prints,
for each contract, part and library, the lines that ran and the outcomes of conditions that were seen.
Hardhat counts lines, not branches. So the copy passes every condition (each operand of an if, ?:, for, && and ||) through
its own function with one line for true and one for false, and counts those lines.
The run fails on anything below 100% that scripts/quality/coverage/left-out.ts doesn't list with a reason, and on an entry
there that nothing needs. The same file lists the tests that can't run on instrumented contracts. Mocks aren't measured.
  --json   one JSON object at the end`;

const { values } = readArguments(HELP, { json: { type: "boolean" } });
const COPY = join(".local", "coverage");
const COPIED = [
  "api",
  "contracts",
  "deploy",
  "docs",
  "scripts",
  "subgraph",
  "test/contracts",
  "test/fixtures",
  "typechain-types",
  "package.json",
  "hardhat.config.ts",
];
const MEASURED = ["contracts/*.sol", "contracts/{escrow,libraries,types}/*.sol"];
const TESTS = "test/contracts/**/*.test.ts";
/** Solidity tests don't run here. */
const NOT_COPIED = /\.(fuzz|invariant)\.sol$|invariant\/support/;
const CONDITIONS_FILE = "contracts/CoveredConditions.sol";

/** The counts of a file. */
interface FileCount {
  file: string;
  lines: number;
  linesHit: number;
  outcomes: number;
  outcomesHit: number;
}
/** Code that no test reached. */
interface Gap {
  file: string;
  line: number;
  text: string;
  outcome?: boolean;
}

const say = (text: string): void => {
  if (values.json !== true) console.log(text);
};

/** Creates the copy with instrumented conditions. */
function prepare(): Condition[] {
  rmSync(COPY, { recursive: true, force: true });
  mkdirSync(COPY, { recursive: true });
  for (const part of COPIED.filter((path) => existsSync(path))) {
    cpSync(part, join(COPY, part), { recursive: true, filter: (path) => !NOT_COPIED.test(path) });
  }
  symlinkSync(resolve("node_modules"), join(COPY, "node_modules"));
  const sources = new Map(
    globSync(MEASURED)
      .sort()
      .map((file) => [file, readFileSync(file, "utf8")]),
  );
  const marked = markConditions(sources, CONDITIONS_FILE, (path) =>
    readFileSync(existsSync(path) ? path : join("node_modules", path), "utf8"),
  );
  for (const [file, source] of marked.sources) writeFileSync(join(COPY, file), source);
  writeFileSync(join(COPY, CONDITIONS_FILE), marked.generated);
  return marked.conditions;
}

/** File → line → whether it ran, from an lcov report. */
function readReport(report: string): Map<string, Map<number, boolean>> {
  const files = new Map<string, Map<number, boolean>>();
  let lines = new Map<number, boolean>();
  for (const row of report.split("\n")) {
    if (row.startsWith("SF:")) files.set(row.slice(3), (lines = new Map<number, boolean>()));
    const [, line, hits] = /^DA:(\d+),(\d+)/.exec(row) ?? [];
    if (line !== undefined) lines.set(Number(line), Number(hits) > 0);
  }
  return files;
}

function countGaps(report: Map<string, Map<number, boolean>>, conditions: Condition[]) {
  const counts: FileCount[] = [];
  const gaps: Gap[] = [];
  const outcomes = report.get(CONDITIONS_FILE) ?? new Map<number, boolean>();
  for (const file of globSync(MEASURED).sort()) {
    const lines = report.get(file);
    const own = conditions.filter((condition) => condition.file === file);
    if (lines === undefined && own.length === 0) continue;
    const source = readFileSync(file, "utf8").split("\n");
    const missed = [...(lines ?? [])].filter(([, ran]) => !ran).map(([line]) => line);
    const unseen = own.flatMap(({ line, text, lines: { whenTrue, whenFalse } }) => [
      ...(outcomes.get(whenTrue) === true ? [] : [{ file, line, text, outcome: true }]),
      ...(outcomes.get(whenFalse) === true ? [] : [{ file, line, text, outcome: false }]),
    ]);
    gaps.push(...missed.map((line) => ({ file, line, text: source[line - 1]?.trim() ?? "" })), ...unseen);
    counts.push({
      file,
      lines: lines?.size ?? 0,
      linesHit: (lines?.size ?? 0) - missed.length,
      outcomes: own.length * 2,
      outcomesHit: own.length * 2 - unseen.length,
    });
  }
  return { counts, gaps };
}

function describe({ file, line, text, outcome }: Gap): string {
  return `${file}:${line} ${outcome === undefined ? "never runs" : `is never ${outcome}`}: ${text}`;
}

const started = performance.now();
const conditions = prepare();
say(`${conditions.length} conditions marked in a copy under ${COPY}; compiling it and running the tests (minutes) …`);
const files = globSync(TESTS)
  .filter((file) => !TESTS_LEFT_OUT.some(({ tests }) => file.startsWith(tests)))
  .sort();
const tests = await run("hardhat", ["--coverage", "--no-typechain", "test", "mocha", ...files], {
  cwd: COPY,
  capture: true,
});
if (tests.code !== 0) {
  console.log(tests.output);
  throw new Error("the tests fail under coverage");
}
const { counts, gaps } = countGaps(readReport(readFileSync(join(COPY, "coverage", "lcov.info"), "utf8")), conditions);
const entryOf = (gap: Gap) =>
  LEFT_OUT.find(({ file, text, outcome }) => file === gap.file && text === gap.text && outcome === gap.outcome);
const open = gaps.filter((gap) => entryOf(gap) === undefined);
const leftOut = gaps.flatMap((gap) => {
  const entry = entryOf(gap);
  return entry === undefined ? [] : [{ ...gap, reason: entry.reason }];
});
const needless = LEFT_OUT.filter((entry) => !gaps.some((gap) => entryOf(gap) === entry));
const seconds = (performance.now() - started) / 1_000;

if (values.json === true) console.log(JSON.stringify({ files: counts, leftOut, open, needless, seconds }));
else {
  const share = (hit: number, all: number): string => `${hit}/${all}`.padStart(11);
  console.log(`\n${"file".padEnd(44)}${"lines".padStart(11)}${"outcomes".padStart(11)}`);
  for (const { file, linesHit, lines, outcomesHit, outcomes } of counts) {
    console.log(`${file.padEnd(44)}${share(linesHit, lines)}${share(outcomesHit, outcomes)}`);
  }
  for (const { tests, reason } of TESTS_LEFT_OUT) console.log(`not run: ${tests}\n          ${reason}`);
  for (const gap of leftOut) console.log(`left out: ${describe(gap)}\n          ${gap.reason}`);
  for (const gap of open) console.log(`✗ ${describe(gap)}`);
  for (const { file, text } of needless) console.log(`✗ left-out.ts names what the tests do reach: ${file}: ${text}`);
  const sum = (key: Exclude<keyof FileCount, "file">): number => counts.reduce((all, count) => all + count[key], 0);
  console.log(
    `${sum("linesHit")} of ${sum("lines")} lines, ${sum("outcomesHit")} of ${sum("outcomes")} outcomes of ` +
      `${conditions.length} conditions, ${leftOut.length} left out by name, in ${seconds.toFixed(0)} s`,
  );
}
process.exit(open.length + needless.length === 0 ? 0 : 1);
