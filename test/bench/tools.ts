// `npm run bench:tools`: how many tokens the catalogue of tools takes of a model's context.
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";

import { readArguments } from "../../scripts/command/arguments.ts";
import { toolsFor } from "../../tools/src/index.ts";

const HELP = `usage: npm run bench:tools -- [--help]

Prints the tokens (o200k) of the catalogue as each kind of list, and of each tool.
  --help   this text`;

readArguments(HELP, {});

for (const format of ["mcp", "openai", "anthropic"] as const) {
  const text = JSON.stringify(format === "mcp" ? { tools: toolsFor(format) } : toolsFor(format));
  console.log(`${format}: ${countTokens(text)} tokens, ${Buffer.byteLength(text)} bytes`);
}
for (const tool of toolsFor("mcp")) console.log(`  ${String(tool["name"])}: ${countTokens(JSON.stringify(tool))}`);
