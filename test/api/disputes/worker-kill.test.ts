// Disputes while workers are killed. On the mainnet's chain: no other test has the resolver's key send there.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

import { assert } from "chai";
import { keccak256, parseEventLogs, stringToBytes } from "viem";
import { privateKeyToAddress } from "viem/accounts";

import { resolverAbi } from "../../../api/chain/abis.ts";
import type { Limits } from "../../../api/config/limits.ts";
import { canonicalJson } from "../../../api/lib/canonical-json.ts";
import { readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { act, deliverDeal, fundedDeal, listService, ONE_USDC } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { BAD, DECIDED, GOOD, resolverKey } from "../../fixtures/disputes.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { campaignSize } from "../../fixtures/nightly.ts";
import { startWorker, untilRuns } from "../../fixtures/processes.ts";
import { seededRandom } from "../../fixtures/random.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

/** How long disputes are opened; a batch at least. */
const SECONDS = campaignSize({
  unit: "seconds of disputes while workers are killed",
  nightly: 600,
  eachPush: 0,
  variable: "DISPUTE_KILL_SECONDS",
});
const BATCH = 6;
/** No more are opened while so many are open: workers that live for seconds rule slowly. */
const MOST_OPEN = 18;
const WORKERS = 2;
/** How many of the workers are killed while they start. */
const KILLED_AT_START = 0.2;
/** Life of the others once they run, or of these while they start. */
const LIFE_MS = { min: 100, max: 3_000 };
/** Kills after the last dispute was opened. */
const MORE_KILLS = 6;
/** Leases of workers that died end within 20 seconds each. */
const PATIENCE_MS = 240_000;
const HOUR_MS = 3_600_000;
const UNREACHED = 100_000_000;

interface Opened {
  transactionId: string;
  outcome: string;
}

/** Ten minutes of disputes take more calls than an agent has in a day. */
function unreachedLimits(): Limits {
  const limits = limitsWith();
  for (const counts of [limits.rateLimits, limits.budgets] as Record<string, number>[]) {
    for (const name of Object.keys(counts)) counts[name] = UNREACHED;
  }
  return limits;
}

describe("disputes while their workers are killed", () => {
  const databaseName = `test_dispute_kill_${process.pid}`;
  const settling = new AbortController();
  const random = seededRandom();
  let kills = 0;
  let last: ChildProcess | undefined;
  let api: TestApi;
  let chain: TestChain;
  let market: Market;
  let killing: Promise<void>[] = [];

  before(async () => {
    api = await startTestApi({ databaseName, env: { limits: unreachedLimits() } });
    chain = await openChain("base");
    const [buyer, seller] = await Promise.all([api.registerAgent(), api.registerAgent()]);
    await chain.endow(seller.account);
    await (await openChain("base-sepolia")).raiseScore(buyer.walletAddress, 10);
    const serviceId = await listService(api, seller, { network: "base", price: 1 });
    market = { api, chain, buyer, seller, serviceId };
  });
  after(async () => {
    settling.abort();
    await Promise.all(killing);
    last?.kill("SIGKILL");
    await api.close();
  });

  async function worker(): Promise<ChildProcess> {
    const mongo = new URL((await readStack()).mongodbUri);
    mongo.pathname = databaseName;
    return startWorker(mongo.href, { DISPUTE_EVIDENCE_SECONDS: "1", RESOLVER_KEY_BASE: resolverKey("system") });
  }

  /** Starts workers one after the other and kills each after a random time. */
  async function killWorkers(): Promise<void> {
    while (!settling.signal.aborted) {
      const victim = await worker();
      if (random() >= KILLED_AT_START) await untilRuns(victim);
      const lifeMs = LIFE_MS.min + random() * (LIFE_MS.max - LIFE_MS.min);
      await sleep(lifeMs, undefined, { signal: settling.signal }).catch(() => undefined);
      victim.kill("SIGKILL");
      if (victim.exitCode === null && victim.signalCode === null) await once(victim, "exit");
      kills += 1;
    }
  }

  async function openDispute(): Promise<Opened> {
    const isGood = random() < 0.5;
    const { transactionId } = await fundedDeal(market, { network: "base", criteria: DECIDED });
    await deliverDeal(market, transactionId, isGood ? GOOD : BAD);
    await act(api, chain, market.buyer, transactionId, "openDispute");
    return { transactionId, outcome: isGood ? "SellerPaid" : "BuyerRefund" };
  }

  const request = async (path: string) => (await api.request("GET", path, { key: market.buyer.apiKey })).body.data;

  it("are each ruled once, as the facts say, with the hash of their document on chain", async () => {
    const from = privateKeyToAddress(resolverKey("system"));
    const sentBefore = await chain.client.getTransactionCount({ address: from });
    killing = Array.from({ length: WORKERS }, killWorkers);
    const opened: Opened[] = [];
    const endsAt = performance.now() + SECONDS * 1_000;
    const { disputes } = api.container.features.disputes.models;
    do {
      await until(
        "there is room for more disputes",
        async () => opened.length - (await disputes.countDocuments({ isOpen: false })) < MOST_OPEN,
        PATIENCE_MS,
      );
      await chain.endow(market.buyer.account, { usdc: BigInt(2 * BATCH) * ONE_USDC });
      for (let deal = 0; deal < BATCH; deal += 1) opened.push(await openDispute());
    } while (performance.now() < endsAt);

    const killsWhileOpening = kills;
    await until("workers are killed while they rule", () => Promise.resolve(kills >= killsWhileOpening + MORE_KILLS));
    settling.abort();
    await Promise.all(killing);
    last = await worker();

    for (const { transactionId, outcome } of opened) {
      const resolved = await until(
        `${transactionId} is resolved`,
        async () => {
          const found = await request(`/api/v1/transactions/${transactionId}`);
          return found.status === "resolved" && found;
        },
        PATIENCE_MS,
      );
      const dispute = await request(`/api/v1/disputes/${resolved.disputeId}`);
      assert.include(dispute, { outcome, resolvedBy: "system", resolutionMethod: "ruling" });
      const { document, onChain } = await request(`/api/v1/disputes/${resolved.disputeId}/ruling`);
      assert.strictEqual(keccak256(stringToBytes(canonicalJson(document))), onChain);
      const receipt = await chain.client.getTransactionReceipt({ hash: dispute.resolutionTxHash });
      const [event] = parseEventLogs({ abi: resolverAbi, eventName: "DisputeResolved", logs: receipt.logs });
      assert.strictEqual(event?.args.rationaleHash, onChain);
    }
    const sent = (await chain.client.getTransactionCount({ address: from })) - sentBefore;
    assert.strictEqual(sent, opened.length, "one transaction for each ruling");
    console.log(`${opened.length} disputes, ${kills} kills`);
  }).timeout(HOUR_MS);
});
