import { randomUUID } from "node:crypto";

import type { Command } from "commander";

import type { ExitCode } from "../exit-codes.ts";
import type { Runtime } from "../runtime.ts";
import { Session } from "../session.ts";
import type { CommonOptions } from "../session.ts";

/** What a command does. It returns how it ends, by default with 0. */
export type Work<Options> = (
  session: Session,
  options: Options & CommonOptions,
  ...args: string[]
) => Promise<ExitCode | undefined>;

/** Adds a command with the options that all have. {@link does} gives it its work. */
export function addCommand(
  parent: Command,
  usage: string,
  description: string,
  { isDefault = false }: { isDefault?: boolean } = {},
): Command {
  return parent
    .command(usage, { isDefault })
    .description(description)
    .option("--json", "write the result as JSON")
    .option("--profile <name>", "use this profile");
}

/** Gives a command its work. */
export function does<Options>(command: Command, runtime: Runtime, work: Work<Options>): Command {
  // commander passes the arguments, then the options, then the command.
  return command.action(async (...given: unknown[]) => {
    const options = given.at(-2) as Options & CommonOptions;
    const args = given.slice(0, -2) as string[];
    const session = await Session.open(runtime, options);
    runtime.exitCode = (await work(session, options, ...args)) ?? runtime.exitCode;
  });
}

/** The option of commands that may be repeated without a second effect. */
export function takesIntent(command: Command): Command {
  return command.option("--intent <id>", "name of what you want; reuse it for every retry of the same thing");
}

/** The intent of this run. It is shown before anything is done, so that whatever happens the run can be repeated. */
export function beginIntent({ runtime, output }: Session, { intent = randomUUID() }: { intent?: string }): string {
  runtime.intentId = intent;
  output.note(`intent: ${intent}`);
  return intent;
}
