// `npm run build`: builds what the checks need.
import { readArguments } from "../../command/arguments.ts";
import { run } from "../../testing/run.ts";

const HELP = `usage: npm run build -- [--help]

Compiles the contracts with their typed bindings and brings the committed generated files up to date.
  --help   this text`;

readArguments(HELP, {});
for (const [command, ...args] of [
  ["hardhat", "build"],
  ["node", "scripts/quality/generated/check-generated.ts", "--write"],
] as const) {
  const { code } = await run(command, args);
  if (code !== 0) process.exit(code);
}
