import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { createIndexer } from "../../../api/indexer/indexer-client.ts";
import { findFreePorts } from "../../../scripts/local/ports.ts";
import { PORTS_PER_STACK } from "../../../scripts/local/stack-ports.ts";
import { startStack } from "../../../scripts/local/stack.ts";
import { readStack } from "../../fixtures/api.ts";
import { openFullStack, openShop, PATIENT } from "../../fixtures/full-stack.ts";
import type { FullStack, Shop } from "../../fixtures/full-stack.ts";
import { startReceiver } from "../../fixtures/receiver.ts";
import { promptWallets } from "../prompt-wallet.ts";
import { now } from "./bench-process.ts";
import { scaled } from "./service.ts";
import type { EventsBench, PartResult } from "./service.ts";
import { delaysOf } from "./summary.ts";

const NETWORK = "base-sepolia";
const DEALS = 100;
/** Pairs of agents that share the deals, so that no key runs into its limits. */
const PAIRS = 10;
const HEAD_POLL_MS = 10;

/** Funds a deal; returns when its block was mined, and when the subgraph showed it. */
async function fund({ buyer, serviceId }: Shop, indexer: ReturnType<typeof createIndexer>) {
  const deal = await buyer.agent.checkout({ serviceId });
  const { promise: mined, resolve } = Promise.withResolvers<{ at: number; block: number }>();
  const onReceipt = (step: string, { blockNumber }: { blockNumber: bigint }): void => {
    if (step === "createEscrow") resolve({ at: now(), block: Number(blockNumber) });
  };
  const funded = deal.fund({ ...PATIENT, onReceipt });
  const { at: minedAt, block } = await Promise.race([mined, funded.then(() => mined)]);
  while ((await indexer.head()).number < block) await sleep(HEAD_POLL_MS);
  const indexedAt = now();
  await funded;
  return { transactionId: deal.transactionId, minedAt, indexedAt };
}

async function measure(bench: EventsBench, stack: FullStack): Promise<PartResult> {
  const indexer = createIndexer({ network: NETWORK, url: (await readStack()).networks[NETWORK].subgraphUrl });
  const hook = await startReceiver();
  const newWallet = promptWallets(stack);
  const shops: Shop[] = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    shops.push(await openShop({ ...stack, newWallet }, { endpointUrl: hook.url }));
  }
  const deals = scaled(bench, DEALS, PAIRS);
  bench.say(`blockToWebhook: ${deals} deals`);
  const [toWebhook, toSubgraph]: [number[], number[]] = [[], []];
  for (let deal = 0; deal < deals; deal += 1) {
    const { transactionId, minedAt, indexedAt } = await fund(shops[deal % PAIRS] as Shop, indexer);
    const [webhook] = await hook.waitFor(({ body }) => body.transactionId === transactionId);
    toWebhook.push(webhook.at - minedAt);
    toSubgraph.push(indexedAt - minedAt);
  }
  const immediate = new Set(hook.received.map(({ body }) => String(body.transactionId)));
  await Promise.all([hook.close(), indexer.close()]);
  const [delays, floor] = [delaysOf(toWebhook), delaysOf(toSubgraph)];
  return {
    /** From the receipt of `createEscrow` to the arrival of the seller's `escrow.funded`. */
    deals,
    delays,
    /** From the same receipt to the subgraph that shows its block: nothing can be sent earlier. */
    floor,
    p95PerFloor: delays.p95Ms / floor.p95Ms,
    faults: immediate.size === deals ? [] : [`${immediate.size} of ${deals} deals had a webhook`],
  };
}

/** From a block to the seller's webhook, behind anvil and graph-node, with API and worker as on the local stack. */
export async function measureBlockToWebhook(bench: EventsBench): Promise<PartResult> {
  bench.say("blockToWebhook: starting chains, graph-node, MongoDB, API and worker");
  const stack = await startStack({
    dir: join(bench.dir, "whole"),
    portBase: await findFreePorts(PORTS_PER_STACK),
    fresh: true,
  });
  process.env["TEST_STACK"] = stack.factsPath;
  try {
    return await measure(bench, await openFullStack());
  } finally {
    await stack.stop();
  }
}
