// What every command of the project does with its arguments: `--help` and what it cannot take.
import { parseArgs } from "node:util";
import type { ParseArgsConfig } from "node:util";

type Options = NonNullable<ParseArgsConfig["options"]>;
type Parsed<Taken extends Options> = ReturnType<
  typeof parseArgs<{ options: Taken & { help: { type: "boolean" } }; allowPositionals: boolean }>
>;

/** Ends the command with exit code 2 and what is wrong with its arguments. */
export function refuseArguments(fault: string): never {
  process.stderr.write(`${fault}\nSee --help.\n`);
  process.exit(2);
}

/**
 * Reads the arguments of this process. `--help` prints the help and ends the command; an argument that is unknown or
 * lacks its value ends it with exit code 2, the fault and the help on stderr.
 */
export function readArguments<const Taken extends Options>(
  help: string,
  options: Taken,
  { allowPositionals = false }: { allowPositionals?: boolean } = {},
): Parsed<Taken> {
  try {
    const parsed = parseArgs({ options: { ...options, help: { type: "boolean" } }, allowPositionals });
    if ((parsed.values as { help?: boolean }).help === true) {
      process.stdout.write(`${help}\n`);
      process.exit(0);
    }
    return parsed;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Only the first sentence: what follows is advice on `parseArgs` that helps nobody here.
    process.stderr.write(`${error.message.split(". ")[0] ?? ""}.\n\n${help}\n`);
    process.exit(2);
  }
}
