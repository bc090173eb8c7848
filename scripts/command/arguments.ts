// What every command of the project does with its arguments: `--help` and what it cannot take.
import { parseArgs } from "node:util";
import type { ParseArgsConfig } from "node:util";

type Options = NonNullable<ParseArgsConfig["options"]>;
type Parsed<Taken extends Options> = ReturnType<
  typeof parseArgs<{ options: Taken & { help: { type: "boolean" } }; allowPositionals: boolean }>
>;

const LAST_PORT = 65_535;

/** Ends the command with exit code 2 and what is wrong with its arguments. */
export function refuseArguments(fault: string): never {
  process.stderr.write(`${fault}\nSee --help.\n`);
  process.exit(2);
}

/** The number that an argument or a variable gives; ends the command when it is no whole number within the bounds. */
export function wholeNumber(name: string, text: string, least: number, most: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  return refuseArguments(`${name} must be a whole number from ${least} to ${most}, not "${text}".`);
}

/** The first of `count` ports in a row that an argument or a variable names. */
export function portNumber(name: string, text: string, count = 1): number {
  return wholeNumber(name, text, 1, LAST_PORT - count + 1);
}

/** `--name -1` is a value to be refused by its bounds, not an option: `parseArgs` takes it in the form `--name=-1`. */
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
 * Reads the arguments of this process. `--help` prints the help and ends the command; an argument that is unknown or
 * lacks its value ends it with exit code 2, the fault and the help on stderr.
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
    // Only the first sentence: what follows is advice on `parseArgs` that helps nobody here.
    process.stderr.write(`${error.message.split(". ")[0] ?? ""}.\n\n${help}\n`);
    process.exit(2);
  }
}
