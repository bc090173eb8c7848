// `npm run bench:disputes`: how often judges rule labelled disputes rightly, and whether a party's text can bend them.
import { refuseArguments, readArguments } from "../../scripts/command/arguments.ts";
import { createCriteriaEvaluator } from "../../api/features/criteria/evaluator.ts";
import type { AttachmentFetcher } from "../../api/features/disputes/judging/attachments.ts";
import type { ModelOptions } from "../../api/features/disputes/judging/model-judge.ts";
import { createJudge } from "../../api/features/disputes/judging/judge.ts";
import { createThreadEncoder } from "../../api/search/embedding/encoder.ts";
import { createLogger } from "../../api/lib/logger.ts";
import { KINDS } from "./disputes/dispute-case.ts";
import { measureGoals } from "./disputes/goals.ts";
import type { Goal } from "./disputes/goals.ts";
import { loadCases } from "./disputes/load-cases.ts";
import type { LoadedCase } from "./disputes/load-cases.ts";
import { reportOf, ruleAll } from "./disputes/rulings.ts";
import type { Report } from "./disputes/rulings.ts";
import { SCRIPTED_MODES, startScriptedModel } from "./disputes/scripted-model.ts";

const HELP = `usage: npm run bench:disputes -- [--kind KIND,…] [--server MODE] [--seeds N] [--json]

Rules the labelled disputes of test/bench/disputes/cases with the embedded judge, and with a model if OPENAI_API_KEY is set
(OPENAI_BASE_URL, OPENAI_MODEL) or --server names a behaviour of the scripted one. Prints how many rulings are right, an
accepted Split or wrong, by kind; the injections that moved a ruling: their author fares better than in the same dispute
without the injection; tokens and time. Exits with 1 if an injector wins before the embedded judge or moves its ruling.
Without a model, --server and --kind, it then measures the goals of the model judge with scripted models in this process:
the cases and the orders of test/bench/disputes/orders, and exits with 1 if one isn't met.
  --kind KIND     only these of ${KINDS.join(", ")}
  --server MODE   a scripted server as the model: ${SCRIPTED_MODES.join(", ")}
  --seeds N       runs of each scripted model that draws random numbers (default 40; 0: no goals)
  --json          print one JSON object
  --help          this text`;

const { values } = readArguments(HELP, {
  kind: { type: "string", default: KINDS.join(",") },
  server: { type: "string" },
  seeds: { type: "string", default: "40" },
  json: { type: "boolean", default: false },
});
const wanted = values.kind.split(",");
const unknown = wanted.find((kind) => !KINDS.some((name) => name === kind));
if (unknown !== undefined) refuseArguments(`--kind: "${unknown}" is none of ${KINDS.join(", ")}`);
const seeds = Number(values.seeds);
if (!Number.isInteger(seeds) || seeds < 0) refuseArguments(`--seeds: "${values.seeds}" isn't a whole number from 0`);
const mode = SCRIPTED_MODES.find((name) => name === values.server);
if (values.server !== undefined && mode === undefined) {
  refuseArguments(`--server: "${values.server}" is none of ${SCRIPTED_MODES.join(", ")}`);
}

// The threads that judge don't keep a process running.
setInterval(() => undefined, 60_000);
const log = createLogger({ level: "silent", name: "bench" });
const evaluator = createCriteriaEvaluator();
const encoder = createThreadEncoder(log);
const cases = await loadCases(KINDS.filter((kind) => wanted.includes(kind)));

/** Says how far a judge is, where somebody watches. */
function progressOf(judge: string) {
  let done = 0;
  return (): void => {
    done += 1;
    if (values.json || !process.stderr.isTTY) return;
    process.stderr.write(`\r${judge}: case ${done} of ${cases.length}${done === cases.length ? "\n" : ""}`);
  };
}

async function measured(name: string, model?: ModelOptions, before?: (labelled: LoadedCase) => void) {
  const progress = progressOf(name);
  const began = performance.now();
  const judgeWith = (attachments: AttachmentFetcher) => createJudge({ encoder, model, attachments, log });
  const ruled = await ruleAll(cases, { judgeWith, evaluator }, (labelled) => {
    before?.(labelled);
    progress();
  });
  const seconds = Number(((performance.now() - began) / 1_000).toFixed(1));
  return { judge: name, seconds, ...reportOf(ruled) };
}

/** The model of the environment; undefined without a key. */
function modelOfEnvironment(): ModelOptions | undefined {
  const apiKey = process.env["OPENAI_API_KEY"] ?? "";
  if (apiKey === "") return undefined;
  const baseUrl = process.env["OPENAI_BASE_URL"] ?? "https://api.openai.com/v1";
  const name = process.env["OPENAI_MODEL"] ?? "";
  if (name === "") return refuseArguments("OPENAI_MODEL must name the model that OPENAI_API_KEY is for.");
  return { apiKey, baseUrl, name };
}

function print({
  judge,
  seconds,
  cases: count,
  all,
  byKind,
  ruledBy,
  injections,
  wrong,
  tokens,
}: Awaited<ReturnType<typeof measured>>): void {
  const row = (title: string, marks: Report["all"]) =>
    `  ${title.padEnd(24)}${[marks.right, marks.accepted, marks.wrong].map((n) => String(n).padStart(10)).join("")}`;
  const list = (names: readonly string[]) => (names.length === 0 ? "none" : names.join(", "));
  console.log(`${judge}: ${count} cases in ${seconds} s, ${tokens.input} + ${tokens.output} tokens`);
  console.log(`  ${"".padEnd(24)}${["right", "accepted", "wrong"].map((title) => title.padStart(10)).join("")}`);
  for (const [kind, marks] of Object.entries(byKind)) console.log(row(kind, marks));
  console.log(row("all", all));
  console.log(
    `  ruled by facts ${ruledBy.facts}, by the embedded judge ${ruledBy.embedded}, by the model ${ruledBy.model}`,
  );
  console.log(
    `  ${injections.cases} injections; moved a ruling: ${list(injections.moved)}; won: ${list(injections.won)}`,
  );
  for (const { name, expected, outcome } of wrong) console.log(`  wrong: ${name}: ${outcome}, should be ${expected}`);
}

function printGoals(goals: readonly Goal[]): void {
  console.log("goals of the model judge, before scripted models:");
  for (const { name, measured: value, goal, isMet } of goals) {
    const verdict = goal === null ? "" : ` (goal: ${goal}: ${isMet ? "met" : "NOT MET"})`;
    console.log(`  ${name}: ${value}${verdict}`);
  }
}

const results = [await measured("embedded")];
const embedded = results[0]?.injections;
const model = mode === undefined ? modelOfEnvironment() : undefined;
if (mode !== undefined) {
  const scripted = await startScriptedModel(mode);
  results.push(await measured(`scripted (${mode})`, scripted.options, scripted.prepare));
  await scripted.close();
} else if (model !== undefined) {
  results.push(await measured(model.name, model));
}
const isWhole = mode === undefined && model === undefined && wanted.length === KINDS.length;
const goals =
  isWhole && seeds > 0
    ? await measureGoals({
        cases,
        evaluator,
        encoder,
        log,
        seeds,
        progress: (part) => {
          if (!values.json) process.stderr.write(`${part}\n`);
        },
      })
    : [];
await Promise.all([encoder.close(), evaluator.close()]);
if (values.json) console.log(JSON.stringify({ cases: cases.length, judges: results, goals }));
else for (const result of results) print(result);
if (!values.json && goals.length > 0) printGoals(goals);
const isBent = (embedded?.won.length ?? 0) + (embedded?.moved.length ?? 0) > 0;
process.exit(isBent || goals.some(({ isMet }) => !isMet) ? 1 : 0);
