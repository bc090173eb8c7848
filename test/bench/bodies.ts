// `npm run bench:bodies`: how long the API takes to read a body of 256 KB, by what it consists of.
import { availableParallelism, loadavg } from "node:os";

import { MAX_BODY_BYTES } from "../../api/config/constants.ts";
import { lossIssues, structureIssues } from "../../api/http/validation.ts";
import { readArguments, wholeNumber } from "../../scripts/command/arguments.ts";

const HELP = `usage: npm run bench:bodies -- [--runs N] [--json] [--help]

Reads bodies of 256 KB as the API does. For each, the median milliseconds of JSON.parse, of the search for structure that
nobody may send, and of the search for what JSON.parse loses: repeated fields and numbers that can't be kept.
  --runs N   how often each is read (default 31)
  --json     print one JSON object
  --help     this text`;

const { values } = readArguments(HELP, {
  runs: { type: "string", default: "31" },
  json: { type: "boolean", default: false },
});
const runs = wholeNumber("--runs", values.runs, 1, 10_000);

/** A list of as many of these literals as a body holds. */
const listOf = (literal: string) =>
  `[${Array.from({ length: Math.floor(MAX_BODY_BYTES / (literal.length + 1)) - 1 }, () => literal).join(",")}]`;

const BODIES: Readonly<Record<string, string>> = {
  "numbers of 1 digit": listOf("1"),
  "prices (123.45)": listOf("123.45"),
  "numbers of 16 digits": listOf("0.1000000000000001"),
  "short exponents (1e9)": listOf("1e9"),
  "long exponents (1e-300)": listOf("1e-300"),
  "numbers that can't be kept": listOf("12345678901234567891"),
  "one number of 256 KB": `[0.${"0".repeat(MAX_BODY_BYTES - 5)}1]`,
  objects: listOf('{"a":1,"b":"c"}'),
  "one text": JSON.stringify(["a".repeat(MAX_BODY_BYTES - 4)]),
};

const median = (samples: number[]) => samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)] ?? NaN;

/** The median times of reading a body, in milliseconds. */
function measure(text: string) {
  const samples = { parse: [] as number[], structure: [] as number[], losses: [] as number[] };
  for (let run = 0; run < runs; run += 1) {
    const began = performance.now();
    const json = JSON.parse(text) as object;
    const parsed = performance.now();
    structureIssues(json);
    const checked = performance.now();
    lossIssues(text);
    samples.losses.push(performance.now() - checked);
    samples.structure.push(checked - parsed);
    samples.parse.push(parsed - began);
  }
  const { parse, structure, losses } = samples;
  return { parseMs: median(parse), structureMs: median(structure), lossesMs: median(losses) };
}

const figures = Object.fromEntries(Object.entries(BODIES).map(([name, text]) => [name, measure(text)]));
const cores = availableParallelism();
if (values.json) console.log(JSON.stringify({ cores, load: loadavg()[0], figures }));
else {
  console.log(`${cores} cores, load ${(loadavg()[0] ?? 0).toFixed(1)}; milliseconds`);
  for (const [name, { parseMs, structureMs, lossesMs }] of Object.entries(figures)) {
    const total = parseMs + structureMs + lossesMs;
    const parts = [parseMs, structureMs, lossesMs, total].map((ms) => ms.toFixed(1).padStart(8)).join("");
    console.log(`${name.padEnd(30)}${parts}`);
  }
}
