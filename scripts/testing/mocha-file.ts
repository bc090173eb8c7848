import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { readRecorded } from "./results.ts";
import type { TestResult } from "./results.ts";

/** How a test file ended. */
export interface FileOutcome {
  file: string;
  /** One for each test, and a failed one if the process died or hung. Empty if the process didn't come to the file. */
  results: TestResult[];
  /** The output of the file's process. */
  output: string;
  seconds: number;
}

/** The options of a run of test files in one process. */
export interface FilesRun {
  stage: string;
  files: readonly string[];
  env: Readonly<Record<string, string>>;
  /** How long the process may take in all, in milliseconds. */
  limitMs: number;
  /** Ends the process when aborted. */
  signal: AbortSignal;
  /** Folder of the project that the files test; this one by default. */
  cwd?: string;
  /** Ends the process at its first failure. */
  bail?: boolean;
}

/** Default timeout of a test or hook. None needs nearly as long, even on an overloaded machine. */
const TEST_TIMEOUT_MS = 240_000;
/** How long to wait for the last output when a process of another group still holds the pipes. */
const LAST_OUTPUT_MS = 5_000;
const MOCHA = join("node_modules", "mocha", "bin", "mocha.js");
const OPTIONS = [
  "--no-config",
  "--no-package",
  "--exit",
  "--forbid-only",
  "--fail-zero",
  ...["--timeout", String(TEST_TIMEOUT_MS)],
  ...["--reporter", join("scripts", "testing", "mocha-reporter.cjs")],
  ...["--require", join("test", "setup.ts")],
];

/** Process groups of the running files. Ctrl-C doesn't reach them, so they are killed when this process exits. */
const running = new Set<number | undefined>();
process.on("exit", () => {
  for (const pid of running) killGroup(pid);
});

/**
 * Runs test files in turn in one process. Those that it didn't come to, because it died or couldn't load a file, then run
 * alone.
 */
export async function runMochaFiles(run: FilesRun): Promise<FileOutcome[]> {
  const outcomes = await runProcess(run);
  if (run.files.length === 1 || run.signal.aborted) return outcomes;
  const ran = outcomes.filter(({ results }) => results.length > 0);
  for (const { file, output } of outcomes) {
    if (ran.some((outcome) => outcome.file === file)) continue;
    const alone = await runMochaFile({ ...run, file });
    ran.push({ ...alone, output: `${output}\n${alone.output}` });
  }
  return ran;
}

/** Runs one test file. */
export async function runMochaFile({ file, ...run }: Omit<FilesRun, "files"> & { file: string }): Promise<FileOutcome> {
  const [outcome] = (await runProcess({ ...run, files: [file] })) as [FileOutcome];
  return outcome;
}

/** Runs test files in a process group of its own, which is killed as a whole after `limitMs`. */
async function runProcess({ stage, files, env, limitMs, signal, cwd, bail }: FilesRun): Promise<FileOutcome[]> {
  const started = Date.now();
  const dir = mkdtempSync(join(tmpdir(), "mocha-"));
  const recorded = join(dir, "results.jsonl");
  const child = spawn(process.execPath, [MOCHA, ...OPTIONS, ...(bail === true ? ["--bail"] : []), ...files], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
    env: { ...process.env, ...env, TEST_STAGE: stage, TEST_RESULTS: recorded },
  });
  running.add(child.pid);
  let output = "";
  const take = (chunk: Buffer): void => {
    output += chunk.toString();
  };
  child.stdout.on("data", take);
  child.stderr.on("data", take);
  let end: string | undefined;
  const killBecause = (reason: string): void => {
    end ??= reason;
    killGroup(child.pid);
  };
  const timer = setTimeout(() => {
    killBecause(`still running after ${String(limitMs / 1000)} s`);
  }, limitMs);
  const abort = (): void => {
    killBecause("the stack was lost");
  };
  signal.addEventListener("abort", abort);
  if (signal.aborted) abort();
  const code = await new Promise<number | null>((settle) => {
    child.on("error", (error) => {
      output += error.message;
      settle(null);
    });
    child.on("exit", (exitCode, exitSignal) => {
      end ??= exitSignal === null ? undefined : `ended by ${exitSignal}`;
      // Processes that the file left running would keep the pipes open.
      killGroup(child.pid);
      running.delete(child.pid);
      const lastOutput = setTimeout(() => {
        settle(exitCode);
      }, LAST_OUTPUT_MS);
      child.on("close", () => {
        clearTimeout(lastOutput);
        settle(exitCode);
      });
    });
  });
  clearTimeout(timer);
  signal.removeEventListener("abort", abort);
  const { results, unfinished, begun } = readRecorded(recorded);
  rmSync(dir, { recursive: true, force: true });
  const hasFailed = results.some(({ status }) => status === "failed");
  const reason = end ?? (results.length === 0 ? "no test ran" : `exit code ${String(code)}`);
  const culprit = unfinished?.file ?? (files.length === 1 ? files[0] : results.at(-1)?.file);
  if (culprit !== undefined && code !== 0 && (end !== undefined || !hasFailed)) {
    const title = unfinished === undefined ? `(${reason})` : `${unfinished.title} (${reason})`;
    results.push({ stage, file: culprit, title, status: "failed" });
    output += `\n${culprit}: ${title}\n`;
  }
  const ended = Date.now();
  return files.map((file, place) => {
    // Loading all files counts on the first one.
    const from = place === 0 ? started : (begun.get(file) ?? ended);
    const next = files.slice(place + 1).find((later) => begun.has(later)) ?? "";
    const seconds = ((begun.get(next) ?? ended) - from) / 1000;
    const isOwn = (result: TestResult): boolean =>
      result.file === file || (place === 0 && !files.includes(result.file));
    return { file, results: results.filter(isOwn), output, seconds };
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group has ended already.
  }
}
