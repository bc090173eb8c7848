// `npm run bench:latency`: how long the API takes to show a new state after its block, on the running stack.
import { existsSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";

import { readArguments, refuseArguments, wholeNumber } from "../../scripts/command/arguments.ts";
import type { Transaction, VerbOptions } from "../../sdk/src/index.ts";
import { openFullStack, openShop, PATIENT } from "../fixtures/full-stack.ts";
import type { Shop } from "../fixtures/full-stack.ts";
import { startReceiver } from "../fixtures/receiver.ts";
import type { TestReceiver } from "../fixtures/receiver.ts";
import { promptWallets } from "./prompt-wallet.ts";

const HELP = `usage: npm run bench:latency -- [--deals N] [--pairs N] [--stack FILE] [--json]

Settles deals one after the other on the running marketplace (\`npm start\`). For each move (createEscrow, submitDelivery,
accept) it measures the time from the block to the API's answer with the new state, and for createEscrow also to the
arrival of the seller's webhook.
  --deals N     how many deals (default 100)
  --pairs N     pairs of agents that share them, so that no key runs into its limits (default 10)
  --stack FILE  facts of the stack (default .local/stack.json)
  --json        print one JSON object
  --help        this text`;

const { values } = readArguments(HELP, {
  deals: { type: "string", default: "100" },
  pairs: { type: "string", default: "10" },
  stack: { type: "string", default: join(".local", "stack.json") },
  json: { type: "boolean", default: false },
});
const deals = wholeNumber("--deals", values.deals, 1, 100_000);
const pairs = wholeNumber("--pairs", values.pairs, 1, 1_000);
if (!existsSync(values.stack))
  refuseArguments(`${values.stack} does not exist: start the marketplace with \`npm start\` first`);
process.env["TEST_STACK"] = values.stack;

const MOVES = ["createEscrow", "submitDelivery", "accept", "webhook"] as const;
type Move = (typeof MOVES)[number];

const samples: Record<Move, number[]> = { createEscrow: [], submitDelivery: [], accept: [], webhook: [] };

/** The value below which `share` of the samples lie, in milliseconds. */
function percentile(sorted: readonly number[], share: number): number {
  const index = Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1);
  return Math.round(sorted[Math.max(0, index)] ?? Number.NaN);
}

function summary(milliseconds: readonly number[]) {
  const sorted = [...milliseconds].sort((a, b) => a - b);
  return {
    samples: sorted.length,
    p50: percentile(sorted, 0.5),
    p95: percentile(sorted, 0.95),
    max: percentile(sorted, 1),
  };
}

/** Runs a verb of a deal and records how long after the block of `move` it returned the new state. */
async function measure(
  move: Exclude<Move, "webhook">,
  status: string,
  verb: (options: VerbOptions) => Promise<Transaction>,
): Promise<{ minedAt: number }> {
  let minedAt = Number.NaN;
  const onReceipt = (step: string): void => {
    if (step === move) minedAt = Date.now();
  };
  const result = await verb({ ...PATIENT, onReceipt });
  samples[move].push(Date.now() - minedAt);
  if (result.status !== status) throw new Error(`${result.transactionId} is ${result.status}, not ${status}`);
  return { minedAt };
}

async function settle({ buyer, seller, serviceId }: Shop, hook: TestReceiver): Promise<void> {
  const deal = await buyer.agent.checkout({ serviceId });
  const { transactionId } = deal;
  const { minedAt } = await measure("createEscrow", "funded", (options) => deal.fund(options));
  const [webhook] = await hook.waitFor(({ body }) => body.transactionId === transactionId);
  samples.webhook.push(webhook.at - minedAt);
  const job = await seller.agent.deal(transactionId);
  await measure("submitDelivery", "delivered", (options) => job.deliver({ transactionId }, options));
  await measure("accept", "released", (options) => deal.accept(options));
}

const [stack, hook] = await Promise.all([openFullStack(), startReceiver()]);
const newWallet = promptWallets(stack);
const shops: Shop[] = [];
for (let pair = 0; pair < pairs; pair += 1) {
  shops.push(await openShop({ ...stack, newWallet }, { endpointUrl: hook.url }));
}
const startedAt = performance.now();
for (let deal = 0; deal < deals; deal += 1) {
  const shop = shops[deal % shops.length];
  if (shop !== undefined) await settle(shop, hook);
}
const seconds = (performance.now() - startedAt) / 1000;
await hook.close();

const states = summary([...samples.createEscrow, ...samples.submitDelivery, ...samples.accept]);
const result = {
  cores: availableParallelism(),
  /** Processes that ran or waited to, averaged over the last minute; this command and the stack are among them. */
  load: Number((loadavg()[0] ?? 0).toFixed(1)),
  deals,
  seconds: Number(seconds.toFixed(1)),
  milliseconds: {
    stateShown: states,
    ...Object.fromEntries(MOVES.map((move) => [move, summary(samples[move])])),
  },
};
if (values.json) console.log(JSON.stringify(result));
else {
  console.log(
    `${deals} deals in ${result.seconds} s on ${result.cores} cores, load ${result.load}; milliseconds after the block:`,
  );
  console.table(result.milliseconds);
}
process.exit(0);
