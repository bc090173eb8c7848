import process from "node:process";
import { parseArgs } from "node:util";

/**
 * For a process that takes no arguments: prints the help and exits for `--help`, and exits with code 2 for anything else.
 */
export function takeNoArguments(help: string): void {
  try {
    const { values } = parseArgs({ options: { help: { type: "boolean", default: false } } });
    if (!values.help) return;
    process.stdout.write(`${help}\n`);
    process.exit(0);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Only the first sentence; the rest is advice about `parseArgs`.
    process.stderr.write(`${error.message.split(". ")[0] ?? ""}.\n\n${help}\n`);
    process.exit(2);
  }
}
