// `npm run test:fuzz`: generated requests to every route of the API.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { readArguments, refuseArguments, wholeNumber } from "../../command/arguments.ts";
import { findFreePorts } from "../../local/ports.ts";
import { PORTS_PER_STACK } from "../../local/stack-ports.ts";
import { startStack } from "../../local/stack.ts";
import { run } from "../../testing/run.ts";
import { installSchemathesis } from "./schemathesis.ts";

const EXAMPLES = 1_000;
const SEED = 20_260_218;
const MOST = 1_000_000_000;

const HELP = `usage: npm run test:fuzz -- [--examples N] [--seed N] [--only REGEX] [--json]

Starts a stack of its own, sends generated requests to every route of /openapi.json with schemathesis, and checks each answer:
no 5xx, no status, header or content type that the document doesn't name, no body that breaks its schema, no valid request
refused and no invalid one accepted (scripts/quality/fuzz/hooks.py lists the rules that a schema can't express). Rate limits
and budgets are raised, so that the requests reach the handlers. The first run installs schemathesis into .local/fuzz
(Python 3.10 or newer with venv and pip). Exits with 1 when a check fails.
  --examples N   requests of a route, beside those that walk its schema's bounds (${EXAMPLES}); there are about 90 routes
  --seed N       repeats a run (${SEED})
  --only REGEX   only the routes whose path matches
  --json         print the measures as one JSON object
  --help         this text`;

const { values } = readArguments(HELP, {
  examples: { type: "string" },
  seed: { type: "string" },
  only: { type: "string" },
  json: { type: "boolean" },
});
const examples = wholeNumber("--examples", values.examples ?? String(EXAMPLES), 1, MOST);
const seed = wholeNumber("--seed", values.seed ?? String(SEED), 0, MOST);
const isJson = values.json === true;
try {
  new RegExp(values.only ?? "");
} catch {
  refuseArguments(`--only: "${values.only ?? ""}" isn't a regular expression`);
}

const TEST = join("test", "api", "fuzz", "fuzz.test.ts");
const REPORT = join(".local", "fuzz", "measures.json");
const TICK_MS = 15_000;
/** For the hooks; the test has a limit of its own. */
const SETUP_LIMIT_MS = 240_000;

const say = (line: string): void => {
  if (!isJson) console.log(line);
};

await installSchemathesis();
say("Starting a stack …");
const stack = await startStack({
  dir: join(".local", "test", "fuzz"),
  portBase: await findFreePorts(PORTS_PER_STACK),
  only: ["chains", "graph", "mongo"],
  fresh: true,
  disposable: true,
});
const stopOnSignal = (): void => void stack.stop().finally(() => process.exit(1));
process.once("SIGINT", stopOnSignal).once("SIGTERM", stopOnSignal);
say(`Fuzzing with ${examples} examples a route, seed: ${seed} …`);
rmSync(REPORT, { force: true });
const started = performance.now();
const ticker = setInterval(() => {
  say(`  … ${((performance.now() - started) / 1_000).toFixed(0)} s`);
}, TICK_MS);
const mocha = [
  join("node_modules", "mocha", "bin", "mocha.js"),
  "--no-config",
  "--exit",
  "--timeout",
  String(SETUP_LIMIT_MS),
];
const { code, output } = await run(process.execPath, [...mocha, "--require", join("test", "setup.ts"), TEST], {
  capture: true,
  env: {
    TEST_STACK: stack.factsPath,
    FUZZ_EXAMPLES: String(examples),
    FUZZ_SEED: String(seed),
    FUZZ_REPORT: REPORT,
    ...(values.only === undefined ? {} : { FUZZ_ONLY: values.only }),
  },
});
clearInterval(ticker);
await stack.stop();
if (isJson) console.log(existsSync(REPORT) ? readFileSync(REPORT, "utf8") : JSON.stringify({ error: output }));
else console.log(output);
process.exit(code === 0 ? 0 : 1);
