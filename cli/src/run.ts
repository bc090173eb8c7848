import { CommanderError } from "commander";

import { readEnvironment } from "./config/environment.ts";
import { EXIT } from "./exit-codes.ts";
import type { ExitCode } from "./exit-codes.ts";
import { failureOf, usageFailure } from "./failure.ts";
import { failureJson } from "./output/output.ts";
import { createProgram } from "./program.ts";
import { Runtime } from "./runtime.ts";

/** What a shell reports of a program that SIGINT has ended. */
const INTERRUPTED = 130;

async function execute(runtime: Runtime): Promise<ExitCode> {
  try {
    await createProgram(runtime).parseAsync(runtime.argv, { from: "user" });
    return runtime.exitCode;
  } catch (error) {
    return endOf(runtime, error);
  }
}

/** Says why a command failed, and what to try next. */
function endOf(runtime: Runtime, error: unknown): ExitCode {
  const isJson = runtime.argv.includes("--json");
  if (error instanceof CommanderError) {
    // Help and version end with 0. commander has written the others to standard error itself.
    if (error.exitCode === 0) return EXIT.done;
    if (isJson) {
      const { parts } = usageFailure(error.message.replace(/^error: /, ""), "See --help.");
      runtime.stdout.write(failureJson(parts));
    }
    return EXIT.usage;
  }
  const { intentId } = runtime;
  const { parts } = failureOf(error, { writes: intentId !== undefined });
  const isUnknown = parts.exitCode === EXIT.outcomeUnknown && intentId !== undefined;
  const whatToDo = isUnknown ? `Run it again, nothing is done twice: ${runtime.repeat(intentId)}` : parts.whatToDo;
  runtime.output({ json: isJson }).failure({ ...parts, whatToDo });
  return parts.exitCode;
}

/** Runs the command of this process's arguments, and sets the exit code. */
export async function run(): Promise<void> {
  const interruption = new AbortController();
  const runtime = new Runtime({
    environment: readEnvironment(),
    argv: process.argv.slice(2),
    stdout: process.stdout,
    stderr: process.stderr,
    signal: interruption.signal,
  });
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      interruption.abort();
      if (runtime.endsBySignal) return;
      const { intentId } = runtime;
      if (intentId === undefined) process.exit(INTERRUPTED);
      const message = "Interrupted. It may have been done.";
      const whatToDo = `Run it again, nothing is done twice: ${runtime.repeat(intentId)}`;
      const parts = { exitCode: EXIT.outcomeUnknown, code: "interrupted", message, whatToDo };
      runtime.output({ json: runtime.argv.includes("--json") }).failure(parts);
      process.exit(EXIT.outcomeUnknown);
    });
  }
  // A reader that stops reading, such as `head`, ends the command.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    process.exit(error.code === "EPIPE" ? EXIT.done : EXIT.failed);
  });

  process.exitCode = await execute(runtime);
}
