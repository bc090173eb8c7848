import { readEnvironment } from "./config/environment.ts";
import { execute } from "./execute.ts";
import { EXIT } from "./exit-codes.ts";
import { Runtime } from "./runtime.ts";

/** What a shell reports of a program that SIGINT has ended. */
const INTERRUPTED = 130;

/** Runs the command of this process's arguments, and sets the exit code. */
export async function run(): Promise<void> {
  const interruption = new AbortController();
  const runtime = new Runtime({
    environment: readEnvironment(),
    argv: process.argv.slice(2),
    stdin: process.stdin,
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
