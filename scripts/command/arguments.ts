// How every command of the project handles its arguments: `--help` and invalid ones.
import { parseArgs } from "node:util";
import type { ParseArgsConfig } from "node:util";

type Options = NonNullable<ParseArgsConfig["options"]>;
type Parsed<Taken extends Options> = ReturnType<
  typeof parseArgs<{ options: Taken & { help: { type: "boolean" } }; allowPositionals: boolean }>
>;

const LAST_PORT = 65_535;

/** Exits with code 2 and says what is wrong with the arguments. */
export function refuseArguments(fault: string): never {
  process.stderr.write(`${fault}\nSee --help.\n`);
  process.exit(2);
}

/** Parses a whole number from an argument or a variable; exits when it isn't one within the bounds. */
export function wholeNumber(name: string, text: string, least: number, most: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  return refuseArguments(`${name} must be a whole number from ${least} to ${most}, not "${text}".`);
}

/** Parses the first of `count` consecutive ports from an argument or a variable. */
export function portNumber(name: string, text: string, count = 1): number {
  return wholeNumber(name, text, 1, LAST_PORT - count + 1);
}

/**
 * Treats the -1 in `--name -1` as a value, not an option, so that the bounds reject it. `parseArgs` accepts
 * `--name=-1`.
 */
function joinNegativeNumbers(args: readonly string[], options: Options): string[] {
  const joined: string[] = [];
  for (const argument of args) {
    const option = joined.at(-1) ?? "";
    const takesValue = option.startsWith("--") && options[option.slice(2)]?.type === "string";
    if (takesValue && /^-\d/.test(argument)) joined[joined.length - 1] = `${option}=${argument}`;
    else joined.push(argument);
  }
  return joined;
}

/**
 * Reads the arguments of this process. `--help` prints the help and exits. An unknown argument or a missing value exits
 * with code 2 and prints the error and the help to stderr.
 */
export function readArguments<const Taken extends Options>(
  help: string,
  options: Taken,
  { allowPositionals = false }: { allowPositionals?: boolean } = {},
): Parsed<Taken> {
  try {
    const args = joinNegativeNumbers(process.argv.slice(2), options);
    const parsed = parseArgs({ args, options: { ...options, help: { type: "boolean" } }, allowPositionals });
    if ((parsed.values as { help?: boolean }).help === true) {
      process.stdout.write(`${help}\n`);
      process.exit(0);
    }
    return parsed;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Only the first sentence; the rest is advice about `parseArgs`.
    process.stderr.write(`${error.message.split(". ")[0] ?? ""}.\n\n${help}\n`);
    process.exit(2);
  }
}
