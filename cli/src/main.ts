#!/usr/bin/env node
import { CommanderError } from "commander";

import { EXIT } from "./exit-codes.ts";
import type { ExitCode } from "./exit-codes.ts";
import { createProgram } from "./program.ts";

async function main(argv: string[]): Promise<ExitCode> {
  try {
    await createProgram().parseAsync(argv, { from: "user" });
    return EXIT.done;
  } catch (error) {
    // Help and version end with 0. Whatever else commander refuses is a mistake on the command line.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    throw error;
  }
}

process.exitCode = await main(process.argv.slice(2));
