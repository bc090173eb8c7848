// `npm run conformance`: writes docs/inside/conformance.md from the results of the last test run, and with --update-pending
// the list of the facts that no test proves yet.
import { mkdirSync, writeFileSync } from "node:fs";

import { readArguments } from "../../command/arguments.ts";
import { conformance, conformancePage, readFacts } from "../../testing/conformance.ts";
import { readAllResults } from "../../testing/results.ts";

const HELP = `usage: npm run conformance -- [--update-pending] [--help]

Writes docs/inside/conformance.md from the results that the last \`npm test\` left under .local/test-results.
  --update-pending   also rewrites test/conformance-pending.txt to the facts that no passing test proves`;

const { values } = readArguments(HELP, { "update-pending": { type: "boolean" } });
const results = readAllResults();
if (results.length === 0) {
  console.error("There are no test results yet: run `npm test` first.");
  process.exit(1);
}
const found = conformance(results);
mkdirSync("docs", { recursive: true });
writeFileSync("docs/inside/conformance.md", conformancePage(found));
const open = readFacts().filter((fact) => !found.proofs.has(fact.id));
console.log(
  `docs/inside/conformance.md: ${found.facts.length - open.length} of ${found.facts.length} facts are proven.`,
);
if (values["update-pending"] === true) {
  const lines = [
    "# Facts of test/spec-lines.tsv that no test proves yet; the list only shrinks.",
    ...open.map((fact) => fact.id),
  ];
  writeFileSync("test/conformance-pending.txt", `${lines.join("\n")}\n`);
  console.log(`test/conformance-pending.txt: ${open.length} facts pending.`);
} else {
  for (const problem of found.problems) console.log(`- ${problem}`);
}
