// `npm run bench:memory`: how well an agent finds facts in its own memory by questions in other words.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { createThreadEncoder } from "../../api/search/embedding/encoder.ts";
import { createLogger } from "../../api/lib/logger.ts";
import { readArguments, refuseArguments } from "../../scripts/command/arguments.ts";
import { NONSENSE_QUERIES } from "../fixtures/relevance.ts";
import { HALVES, LANGUAGES, loadEntries, loadQuestions, NEAR_FILE, QUESTION_KINDS } from "./memory/corpus.ts";
import { createRankers, RANKERS } from "./memory/rankers.ts";
import { reportOf } from "./memory/report.ts";
import type { Measures, Report } from "./memory/report.ts";

/** Places of the rankings whose generated entries are near. */
const NEAR_DEPTH = 10;

const HELP = `usage: npm run bench:memory -- [--half HALF] [--near] [--json]

Asks the questions of test/bench/memory over an agent's memory of two thousand entries in three ways: words alone (BM25), vectors alone,
and ours, the search behind POST /api/v1/memory/search. Prints how often the first entry is right, recall@5 and MRR, by
language and kind of question, and how many entries queries of nonsense find. Needs neither chain nor database.
  --half HALF   ${HALVES.join(" or ")} (default held-out; weights are tuned with the other only)
  --near        write near.json: the generated entries that are among the first ten of a ranking, or
                found by nonsense. The test embeds no others
  --json        print one JSON object
  --help        this text`;

const { values } = readArguments(HELP, {
  half: { type: "string", default: "held-out" },
  near: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
});
const half =
  HALVES.find((name) => name === values.half) ??
  refuseArguments(`--half: "${values.half}" is none of ${HALVES.join(", ")}`);

const entries = loadEntries();
const questions = loadQuestions().filter((question) => question.half === half);
// The encoder's thread doesn't keep a process running.
const keepRunning = setInterval(() => undefined, 60_000);
const encoder = createThreadEncoder(createLogger({ level: "silent", name: "bench" }));
const rankers = await createRankers(entries, encoder);
const reports: [string, Report][] = [];
for (const name of RANKERS) reports.push([name, await reportOf(rankers[name], questions)]);
const nonsense: [string, number][] = [];
for (const query of NONSENSE_QUERIES) nonsense.push([query, (await rankers.ours(query)).length]);
if (values.near) await writeNear();
await rankers.close();
await encoder.close();
clearInterval(keepRunning);

async function writeNear(): Promise<void> {
  const near = new Set<string>();
  for (const { question } of questions) {
    for (const name of RANKERS) for (const key of (await rankers[name](question)).slice(0, NEAR_DEPTH)) near.add(key);
  }
  for (const query of NONSENSE_QUERIES) for (const key of await rankers.ours(query)) near.add(key);
  const keys = entries.filter(({ language, key }) => language === "generated" && near.has(key)).map(({ key }) => key);
  writeFileSync(join(import.meta.dirname, "memory", NEAR_FILE), `${JSON.stringify(keys, null, 2)}\n`);
  console.error(`${keys.length} generated entries are near`);
}

function print(): void {
  const row = (title: string, cells: readonly string[]) =>
    `${title.padEnd(32)}${cells.map((cell) => cell.padStart(10)).join("")}`;
  const compared = (title: string, measuresOf: (report: Report) => Measures | undefined) => {
    for (const measure of ["first", "recall5", "mrr"] as const) {
      const cells = reports.map(([, report]) => measuresOf(report)?.[measure].toFixed(3) ?? "-");
      console.log(row(`${title}: ${measure}`, cells));
    }
  };
  console.log(`${entries.length} entries, ${questions.length} questions (${half})`);
  const names = reports.map(([name]) => name);
  console.log(row("", names));
  compared("all", (report) => report);
  for (const part of [...LANGUAGES, ...QUESTION_KINDS]) {
    const count = reports[0]?.[1].byPart[part]?.questions ?? 0;
    compared(`${count} ${part}`, (report) => report.byPart[part]);
  }
  for (const [query, found] of nonsense) console.log(`${found} entries for "${query}"`);
}

if (values.json) {
  const rankersByName = Object.fromEntries(reports);
  console.log(
    JSON.stringify({
      half,
      entries: entries.length,
      questions: questions.length,
      rankers: rankersByName,
      nonsense: Object.fromEntries(nonsense),
    }),
  );
} else {
  print();
}
