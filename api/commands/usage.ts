import process from "node:process";
import { parseArgs } from "node:util";
import type { ParseArgsConfig } from "node:util";

/** A mistake in the arguments of a command. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Reads arguments like `parseArgs`. @throws UsageError with one sentence */
export function readArguments<Config extends ParseArgsConfig>(config: Config): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Only the first sentence; the rest is advice about `parseArgs`.
    throw new UsageError(`${error.message.split(". ")[0] ?? ""}.`, { cause: error });
  }
}

/** Says what is wrong with the arguments. The process is to end with exit code 2. */
function refuseUsage(error: UsageError, help: string): void {
  process.stderr.write(`${error.message}\n\n${help}\n`);
  process.exitCode = 2;
}

/**
 * For a process that takes no arguments: prints the help and exits for `--help`, and exits with code 2 for anything else.
 */
export function takeNoArguments(help: string): void {
  try {
    const { values } = readArguments({ options: { help: { type: "boolean", default: false } } });
    if (!values.help) return;
    process.stdout.write(`${help}\n`);
    process.exit(0);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    refuseUsage(error, help);
    process.exit();
  }
}

/** Prints a line. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A command that takes arguments. */
export interface CommandOptions<Command> {
  help: string;
  /** Reads the arguments; undefined when they ask for help. @throws UsageError */
  read: (args: string[]) => Command | undefined;
  /** Returns the exit code. */
  run: (command: Command) => Promise<number>;
  /** Errors that an operator has to know: printed without a stack trace, with exit code 1. */
  expected: readonly (abstract new (...args: never[]) => Error)[];
}

/** Runs a command with the arguments of the process. Wrong arguments end with exit code 2. */
export async function runCommand<Command>({ help, read, run, expected }: CommandOptions<Command>): Promise<void> {
  try {
    const command = read(process.argv.slice(2));
    if (command === undefined) print(help);
    else process.exitCode = await run(command);
  } catch (error) {
    if (error instanceof UsageError) {
      refuseUsage(error, help);
    } else if (error instanceof Error && expected.some((type) => error instanceof type)) {
      process.stderr.write(`${error.message}\n`);
      process.exitCode = 1;
    } else throw error;
  }
}
