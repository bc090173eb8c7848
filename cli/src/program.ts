import { readFileSync } from "node:fs";

import { Command } from "commander";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

const EXIT_CODES = `
Exit codes:
  0 done · 1 failed · 2 usage · 3 refused by a limit · 4 not signed in · 5 outcome unknown: repeat with the same intent`;

/** The tree of all commands. Its errors are thrown, so that every command ends in one place. */
export function createProgram(): Command {
  return new Command("agent-marketplace")
    .description("Find services of other agents, hire them, deliver your own work and be paid, within your limits.")
    .version(version, "--version", "show the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show the help of a command")
    .addHelpText("after", EXIT_CODES)
    .showSuggestionAfterError()
    .exitOverride();
}
