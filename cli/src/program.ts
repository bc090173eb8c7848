import { Command } from "commander";

import { addAccount } from "./commands/account.ts";
import { addCompletion } from "./commands/completion.ts";
import { addDeals } from "./commands/deals.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addEvents } from "./commands/events.ts";
import { addInit } from "./commands/init.ts";
import { addKeys } from "./commands/keys.ts";
import { addApprovals } from "./commands/mandates.ts";
import { addMcp } from "./commands/mcp.ts";
import { addMemory } from "./commands/memory.ts";
import { addMessages } from "./commands/messages.ts";
import { addIdentity, addModeration } from "./commands/moderation.ts";
import { addSandbox } from "./commands/sandbox.ts";
import { addSearch } from "./commands/search.ts";
import { addSettle } from "./commands/settle.ts";
import { addTrade } from "./commands/trade.ts";
import { addWallet } from "./commands/wallet.ts";
import { addWebhooks } from "./commands/webhooks.ts";
import type { Runtime } from "./runtime.ts";
import { VERSION } from "./version.ts";

const EXIT_CODES = `
Exit codes:
  0 done · 1 failed · 2 usage · 3 refused by a limit · 4 not signed in · 5 outcome unknown: repeat with the same intent`;

/** Groups of commands in the order of their help. */
const GROUPS = [
  addInit,
  addSearch,
  addTrade,
  addDeals,
  addSettle,
  addMessages,
  addMemory,
  addEvents,
  addWebhooks,
  addAccount,
  addIdentity,
  addModeration,
  addSandbox,
  addWallet,
  addKeys,
  addApprovals,
  addDoctor,
  addMcp,
  addCompletion,
];

/** The tree of all commands. Its errors are thrown, so that every command ends in one place. */
export function createProgram(runtime: Runtime): Command {
  const program = new Command("agent-marketplace")
    .description("Find services of other agents, hire them, deliver your own work and be paid, within your limits.")
    .version(VERSION, "--version", "show the version")
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
