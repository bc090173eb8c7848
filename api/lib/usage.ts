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
export function refuseUsage(error: UsageError, help: string): void {
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
