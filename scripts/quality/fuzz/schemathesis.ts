// Runs schemathesis against an API and reads its report.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { installPythonTools } from "../../testing/python-tools.ts";
import { run } from "../../testing/run.ts";

const WORK = join(".local", "fuzz");
const VENV = join(WORK, "venv");
const ROOM = fileURLToPath(new URL(".", import.meta.url));

/** Facts for the hooks: keys and the ids of existing records. */
export interface FuzzFacts {
  key: string;
  /** Of another agent. A call may revoke it. */
  revocableKey: string;
  adminKey: string;
  /** Service of a checkout. */
  serviceId: string;
  /** Ids by route, such as `GET /api/v1/services/{id}`. */
  ids: Readonly<Record<string, string>>;
}

/** Options of a run. */
export interface FuzzOptions {
  /** Base URL of the API. */
  url: string;
  facts: FuzzFacts;
  /** Generated requests of a route. */
  examples: number;
  /** Whether to walk the bounds of each schema too, with thousands of requests. */
  walksBounds: boolean;
  seed: number;
  /** Only routes whose path matches this regular expression. */
  only: string | undefined;
}

/** The report of a run. */
export interface FuzzReport {
  operations: number;
  cases: number;
  /** Whether every route was tested to the end. */
  complete: boolean;
  failures: { title: string; operations: string[] }[];
  errors: unknown[];
  /** All that schemathesis printed. */
  output: string;
}

/** The used fields of schemathesis's JSON report. */
interface RawReport {
  complete: boolean;
  operations: { tested: number };
  test_cases: { generated: number };
  failures: { title: string; operations: { label?: string }[] }[];
  errors: unknown[];
}

const WORKERS = 2;
const REQUEST_TIMEOUT_SECONDS = 60;
/** Replaced by checks of hooks.py. */
const REPLACED_CHECKS = ["positive_data_acceptance", "not_a_server_error"];

/**
 * Installs schemathesis unless it is there.
 * @throws Error if Python, venv, pip or the packages can't be had
 */
export function installSchemathesis(): Promise<void> {
  return installPythonTools(VENV, join(ROOM, "requirements.txt"), () => {
    console.log(`Installing schemathesis into ${VENV} …`);
  });
}

/** Sends generated requests to every route of both descriptions and checks each answer. */
export async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
  const agents = await fuzzRoutesOf("openapi.json", options);
  const operators = await fuzzRoutesOf("openapi-admin.json", options);
  return {
    operations: agents.operations + operators.operations,
    cases: agents.cases + operators.cases,
    complete: agents.complete && operators.complete,
    output: agents.output + operators.output,
    failures: [...agents.failures, ...operators.failures],
    errors: [...agents.errors, ...operators.errors],
  };
}

async function fuzzRoutesOf(name: string, options: FuzzOptions): Promise<FuzzReport> {
  const { url, facts, examples, walksBounds, seed, only } = options;
  const report = resolve(WORK, "report.json");
  mkdirSync(dirname(report), { recursive: true });
  rmSync(report, { force: true });
  const description = resolve(WORK, name);
  const answer = await fetch(`${url}/${name}`, { headers: { authorization: `Bearer ${facts.adminKey}` } });
  writeFileSync(description, await answer.text());
  const args = [
    ...["run", description, "--url", url, "--no-color", "--workers", String(WORKERS)],
    ...["--max-examples", String(examples), "--seed", String(seed), "--generation-database", "none"],
    ...["--phases", ["examples", ...(walksBounds ? ["coverage"] : []), "fuzzing"].join(",")],
    ...["--continue-on-failure", "--suppress-health-check", "all"],
    // A stream never ends, and the client waits for its end.
    ...["--exclude-path", "/api/v1/events/stream"],
    ...["--checks", "all", "--exclude-checks", REPLACED_CHECKS.join(",")],
    // The hooks present the keys; without this, every other call has a made-up key beside the right one.
    ...["--generation-with-security-parameters", "false"],
    ...["--request-timeout", String(REQUEST_TIMEOUT_SECONDS), "--warnings", "off"],
    ...["--report", "json", "--report-json-path", report],
    ...(only === undefined ? [] : ["--include-path-regex", only]),
  ];
  const env = {
    FUZZ_FACTS: JSON.stringify(facts),
    SCHEMATHESIS_HOOKS: join(ROOM, "hooks.py"),
    PYTHONUNBUFFERED: "1",
    PYTHONDONTWRITEBYTECODE: "1",
  };
  const { output } = await run(join(VENV, "bin", "schemathesis"), args, { capture: true, env });
  const raw = readReport(report, output);
  return {
    operations: raw.operations.tested,
    cases: raw.test_cases.generated,
    complete: raw.complete,
    output,
    failures: raw.failures.map(({ title, operations }) => ({
      title,
      operations: operations.map(({ label }) => label ?? ""),
    })),
    errors: raw.errors,
  };
}

function readReport(file: string, output: string): RawReport {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as RawReport;
  } catch (error) {
    throw new Error(`schemathesis wrote no report and printed:\n${output}`, { cause: error });
  }
}
