// `npm run bench:gas`: gas of every operation against a plain transferFrom in the same run.
import { availableParallelism } from "node:os";

import hre from "hardhat";

import { readArguments } from "../../scripts/command/arguments.ts";
import { WHOLE_DEAL, type GasReport, measureGas } from "./gas-measure.ts";
import { readSnapshot, writeSnapshot } from "./gas-snapshot.ts";
import { isKnown, measureWithout } from "./gas-without.ts";

const HELP = `usage: npm run bench:gas -- [--json] [--write]

Measures every operation behind the proxies with score contract, caps (a job of $20, so that both scores are read),
seller terms and allow-list on, between wallets with a past.
  --json    one JSON object
  --write   replaces test/bench/gas-snapshot.json and the figures in docs/; when the escrow contract has changed, compiles
            it without some of its parts, too (half a minute), to measure what they cost`;

/** For a whole deal in USDC. */
const AIM = 286_000;
const { values } = readArguments(HELP, { json: { type: "boolean" }, write: { type: "boolean" } });
await hre.tasks.getTask("build").run({ quiet: true, noTests: true });
const report = await measureGas();
const before = readSnapshot();
if (values.write === true) {
  const createEscrow = report.gas["createEscrow"] ?? 0;
  const known = before?.without !== undefined && (await isKnown(before.without, createEscrow));
  writeSnapshot({ ...report, without: known ? before.without : await measureWithout(createEscrow) });
}
if (values.json === true) {
  console.log(JSON.stringify({ ...report, aim: AIM, cores: availableParallelism() }));
} else {
  print(report);
}

function print({ gas, parts, codeBytes }: GasReport): void {
  const number = (value: number): string => value.toLocaleString("en-US").padStart(11);
  const plain = gas["transferFrom"] ?? 1;
  console.log("operation                                             gas     x transferFrom   against the snapshot");
  for (const [name, used] of Object.entries(gas)) {
    const old = before?.gas[name];
    const change = old === undefined ? "new" : old === used ? "same" : `${used > old ? "+" : ""}${used - old}`;
    console.log(`${name.padEnd(51)}${number(used)}${(used / plain).toFixed(1).padStart(14)}   ${change}`);
  }
  console.log("\nparts of a whole deal");
  for (const [name, used] of Object.entries(parts)) console.log(`${name.padEnd(54)}${number(used)}`);
  console.log("\nbytes of code (at most 24,576)");
  for (const [name, bytes] of Object.entries(codeBytes)) console.log(`${name.padEnd(32)}${number(bytes)}`);
  const deal = gas[WHOLE_DEAL] ?? 0;
  console.log(`\n${WHOLE_DEAL}: ${deal} gas, ${deal <= AIM ? "within" : "ABOVE"} the aim of ${AIM}`);
}
