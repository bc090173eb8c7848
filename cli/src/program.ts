import { readFileSync } from "node:fs";

import { Command } from "commander";

import { addAccount } from "./commands/account.ts";
import { addCompletion } from "./commands/completion.ts";
import { addDeals } from "./commands/deals.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addEvents } from "./commands/events.ts";
import { addMemory } from "./commands/memory.ts";
import { addMessages } from "./commands/messages.ts";
import { addSearch } from "./commands/search.ts";
import { addWebhooks } from "./commands/webhooks.ts";
import type { Runtime } from "./runtime.ts";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

const EXIT_CODES = `
Exit codes:
  0 done · 1 failed · 2 usage · 3 refused by a limit · 4 not signed in · 5 outcome unknown: repeat with the same intent`;

/** Groups of commands in the order of their help. */
const GROUPS = [
  addSearch,
  addDeals,
  addMessages,
  addMemory,
  addEvents,
  addWebhooks,
  addAccount,
  addDoctor,
  addCompletion,
];

/** The tree of all commands. Its errors are thrown, so that every command ends in one place. */
export function createProgram(runtime: Runtime): Command {
  const program = new Command("agent-marketplace")
    .description("Find services of other agents, hire them, deliver your own work and be paid, within your limits.")
    .version(version, "--version", "show the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show the help of a command")
    .addHelpText("after", EXIT_CODES)
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => runtime.stdout.write(text),
      writeErr: (text) => runtime.stderr.write(text),
    });
  for (const add of GROUPS) add(program, runtime);
  return program;
}
