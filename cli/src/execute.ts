import { CommanderError } from "commander";

import { EXIT } from "./exit-codes.ts";
import type { ExitCode } from "./exit-codes.ts";
import { failureOf, usageFailure } from "./failure.ts";
import { failureJson } from "./output/output.ts";
import { createProgram } from "./program.ts";
import type { Runtime } from "./runtime.ts";

/** Runs the command of the arguments to its end, which is never an exception. */
export async function execute(runtime: Runtime): Promise<ExitCode> {
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
