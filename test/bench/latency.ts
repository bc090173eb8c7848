// `npm run bench:latency`: how long after its block the API shows a new state, over many deals on the running stack.
import { existsSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { TransactionReceiptNotFoundError } from "viem";

import { readArguments, refuseArguments, wholeNumber } from "../../scripts/command/arguments.ts";
import type { TestAgent } from "../fixtures/api.ts";
import type { DealApi, Market } from "../fixtures/deals.ts";
import { checkOut, ONE_USDC, openMarket, readTransaction } from "../fixtures/deals.ts";
import type { TestReceiver } from "../fixtures/receiver.ts";
import { startReceiver } from "../fixtures/receiver.ts";
import { remoteApi } from "../fixtures/remote-api.ts";
import type { PreparedCall, TestChain } from "../fixtures/stack.ts";
import { openChain } from "../fixtures/stack.ts";
import { until } from "../fixtures/until.ts";

const HELP = `usage: npm run bench:latency -- [--deals N] [--pairs N] [--stack FILE] [--json]

Settles deals one after the other on the running marketplace (\`npm start\`). For each move (createEscrow, submitDelivery,
accept) it measures from the moment at which the block that holds it is there to the moment at which the API has
answered with the new state, and for createEscrow also to the arrival of the seller's webhook.
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

const RECEIPT_POLL_MS = 2;
const BUYER_USDC = 10_000n * ONE_USDC;
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

/** Sends a call and gives its hash with the moment at which its block was there, to a few milliseconds. */
async function mined(chain: TestChain, agent: TestAgent, call: PreparedCall) {
  const txHash = await chain.submit(agent.account, call);
  for (;;) {
    try {
      const { status } = await chain.client.getTransactionReceipt({ hash: txHash });
      if (status !== "success") throw new Error(`transaction ${txHash} reverted`);
      return { txHash, at: performance.now() };
    } catch (error) {
      if (!(error instanceof TransactionReceiptNotFoundError)) throw error;
      await sleep(RECEIPT_POLL_MS);
    }
  }
}

/** Asks for a state that the API answers only once it has it; notes how long after the block that was. */
async function measure(
  move: Move,
  api: DealApi,
  agent: TestAgent,
  path: string,
  body: object,
  status: string,
  at: number,
) {
  const answer = await api.request("POST", path, { key: agent.apiKey, body });
  const elapsed = performance.now() - at;
  if (answer.status !== 200 || answer.body.data.status !== status) throw new Error(`${path}: ${answer.text}`);
  samples[move].push(elapsed);
}

async function settle(market: Market, hook: TestReceiver): Promise<void> {
  const { api, chain, buyer, seller } = market;
  const { transactionId, paymentInstructions } = await checkOut(market);
  const path = `/api/v1/transactions/${transactionId}`;
  const [approve, create] = paymentInstructions.calls;
  if (approve === undefined || create === undefined) throw new Error("checkout prepared no calls");
  await mined(chain, buyer, approve);
  const created = await mined(chain, buyer, create);
  const arrival = until("the webhook arrives", () => {
    const post = hook.received.find(({ body }) => body.transactionId === transactionId);
    return Promise.resolve(post === undefined ? undefined : post.at);
  });
  const createdAt = Date.now() - (performance.now() - created.at);
  await measure(
    "createEscrow",
    api,
    buyer,
    paymentInstructions.fundEndpoint,
    { txHash: created.txHash },
    "funded",
    created.at,
  );
  samples.webhook.push((await arrival) - createdAt);

  const responsePayload = { transactionId };
  const handed = await api.request("POST", `${path}/deliver`, { key: seller.apiKey, body: { responsePayload } });
  const delivered = await mined(chain, seller, handed.body.data.submitDelivery as PreparedCall);
  const body = { responsePayload, txHash: delivered.txHash };
  await measure("submitDelivery", api, seller, `${path}/deliver`, body, "delivered", delivered.at);

  const { actions } = await readTransaction(api, buyer, transactionId);
  const accept = (actions as (PreparedCall & { action: string })[]).find(({ action }) => action === "accept");
  if (accept === undefined) throw new Error("accept is not offered");
  const accepted = await mined(chain, buyer, accept);
  await measure("accept", api, buyer, `${path}/confirm`, {}, "released", accepted.at);
}

const [api, chain, hook] = await Promise.all([remoteApi(), openChain("base-sepolia"), startReceiver()]);
const markets: Market[] = [];
for (let pair = 0; pair < pairs; pair += 1) {
  const market = await openMarket(api, chain, { endpointUrl: hook.url });
  await chain.endow(market.buyer.account, { usdc: BUYER_USDC });
  markets.push(market);
}
const startedAt = performance.now();
for (let deal = 0; deal < deals; deal += 1) {
  const market = markets[deal % markets.length];
  if (market !== undefined) await settle(market, hook);
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
