import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { readRecorded } from "./results.ts";
import type { TestResult } from "./results.ts";

/** How a test file ended. */
export interface FileOutcome {
  file: string;
  /** One for each test, and a failed one if the process died, hung or ran no test. */
  results: TestResult[];
  /** The output. */
  output: string;
  seconds: number;
}

/** The options of a test file's run. */
export interface FileRun {
  stage: string;
  file: string;
  env: Readonly<Record<string, string>>;
  /** How long the file may take in all, in milliseconds. */
  limitMs: number;
  /** Ends the file when aborted. */
  signal: AbortSignal;
  /** Folder of the project that the file tests; this one by default. */
  cwd?: string;
  /** Ends the file at its first failure. */
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

/** Runs one test file in a process group of its own, which is killed as a whole after `limitMs`. */
export async function runMochaFile({ stage, file, env, limitMs, signal, cwd, bail }: FileRun): Promise<FileOutcome> {
  const started = performance.now();
  const dir = mkdtempSync(join(tmpdir(), "mocha-"));
  const recorded = join(dir, "results.jsonl");
  const child = spawn(process.execPath, [MOCHA, ...OPTIONS, ...(bail === true ? ["--bail"] : []), file], {
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
  const { results, unfinished } = readRecorded(recorded);
  rmSync(dir, { recursive: true, force: true });
  const hasFailed = results.some(({ status }) => status === "failed");
  const reason = end ?? (results.length === 0 ? "no test ran" : `exit code ${String(code)}`);
  if (code !== 0 && (end !== undefined || !hasFailed)) {
    const title = unfinished === undefined ? `(${reason})` : `${unfinished.title} (${reason})`;
    results.push({ stage, file, title, status: "failed" });
    output += `\n${file}: ${title}\n`;
  }
  return { file, results, output, seconds: (performance.now() - started) / 1000 };
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group has ended already.
  }
}
