// `npm run format`: formats the sources.
import { readArguments } from "../command/arguments.ts";
import { run } from "../testing/run.ts";

const HELP = `usage: npm run format -- [--help]

Formats every file with prettier and mends what eslint can mend by itself.
  --help   this text`;

readArguments(HELP, {});
for (const [command, ...args] of [
  ["prettier", "--log-level", "warn", "--write", "."],
  ["eslint", "--fix", "."],
] as const) {
  const { code } = await run(command, args);
  if (code !== 0) process.exit(code);
}
