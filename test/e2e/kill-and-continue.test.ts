// One deal on a stack of its own that loses a process to kill -9 before or during each move.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { assert } from "chai";
import type { TransactionReceipt } from "viem";

import { findFreePorts } from "../../scripts/local/ports.ts";
import { PORTS_PER_STACK } from "../../scripts/local/stack-ports.ts";
import { eventIdOf } from "../../scripts/demo/receiver.ts";
import { collect, deliveryProofOf, isTransient } from "../../sdk/src/index.ts";
import type { Deal } from "../../sdk/src/index.ts";
import { openFullStack, openShop, PATIENT } from "../fixtures/full-stack.ts";
import type { FullStack, Shop } from "../fixtures/full-stack.ts";
import { seededRandom } from "../fixtures/random.ts";
import { startReceiver } from "../fixtures/receiver.ts";
import type { TestReceiver } from "../fixtures/receiver.ts";
import { until } from "../fixtures/until.ts";
import { ALL_AT_ONCE, isOnDisk, StackProcess, THE_STACK_ITSELF, noProcessLeft } from "./support/stack-process.ts";

/** Latest kill after the start of a request. The seed decides whether it hits before, during or after the handling. */
const INTO_A_REQUEST_MS = 40;
/** An attempt whose worker died is repeated after its lease of 30 s. */
const REPEATED_WITHIN_MS = 60_000;
/** The used fields of the answer of `/ready`. */
interface Readiness {
  networks: Record<string, { ok: boolean }>;
}

const RESPONSE_PAYLOAD = { summary: "Three risks were found." };

describe("a deal continues after kill -9 and a restart", () => {
  const random = seededRandom();
  const dir = mkdtempSync(join(tmpdir(), "marketplace-kill-"));
  let portBase: number;
  let stack: StackProcess;
  let sellerHook: TestReceiver;
  let buyerHook: TestReceiver;
  let users: FullStack;
  let shop: Shop;
  let firstBlock: string;
  /** The deal as its buyer and as its seller have it. */
  let deal: Deal;
  let job: Deal;
  let funding: TransactionReceipt;

  const start = async (): Promise<void> => {
    stack = new StackProcess(dir, ["--port-base", String(portBase)]);
    await stack.ready();
  };

  before(async () => {
    portBase = await findFreePorts(PORTS_PER_STACK);
    await start();
    process.env["TEST_STACK"] = join(dir, "stack.json");
    users = await openFullStack();
    firstBlock = (await users.chain.client.getBlock({ blockNumber: 1n })).hash;
    // The first webhook is never answered: its worker is killed during the attempt.
    sellerHook = await startReceiver((n) => (n === 1 ? undefined : 200));
    buyerHook = await startReceiver();
    shop = await openShop(users, { endpointUrl: sellerHook.url, callbackRequired: true });
    const { buyer, serviceId } = shop;
    deal = await buyer.agent.checkout({ serviceId, callbackUrl: buyerHook.url });
    await deal.escrow.approve(deal.terms.token, deal.terms.amount);
  });
  after(async () => {
    stack.interrupt();
    await stack.ended;
    await Promise.all([sellerHook.close(), buyerHook.close()]);
    rmSync(dir, { recursive: true, force: true });
  });

  /** Kills a process and checks that the stack ends, reports why, leaves no process, and restarts with its data. */
  async function killAndStartAgain(victim: string): Promise<void> {
    stack.kill(victim);
    const { code, output } = await stack.ended;
    await stack.allEnded();
    await noProcessLeft(dir);
    if (victim !== THE_STACK_ITSELF && victim !== ALL_AT_ONCE) {
      assert.strictEqual(code, 1, output);
      assert.match(output, new RegExp(`${victim} ended by itself \\(signal SIGKILL\\)`));
    }
    await start();
    const { hash } = await users.chain.client.getBlock({ blockNumber: 1n });
    assert.strictEqual(hash, firstBlock, "the chain is the same");
    await until("everything answers", isReady);
  }

  async function isReady(): Promise<boolean> {
    try {
      const { body } = await shop.buyer.agent.request<Readiness>({ method: "GET", path: "/ready" });
      return Object.values(body.networks).every(({ ok }) => ok);
    } catch (error) {
      if (isTransient(error)) return false;
      throw error;
    }
  }

  /** Kills a service that a pending request needs. The request may succeed or fail. */
  async function killDuring(request: Promise<unknown>, victim: string): Promise<void> {
    const settled = Promise.allSettled([request]);
    await sleep(random() * INTO_A_REQUEST_MS);
    await killAndStartAgain(victim);
    await settled;
  }

  it("chain-base, the network that it does not settle on, with the checkout just made", async () => {
    await killAndStartAgain("chain-base");
    const { status, escrowId } = await deal.read();
    assert.deepEqual([status, escrowId], ["pending_funding", deal.terms.escrowId]);
  });

  it("worker, after the block of the funding and before its webhook", async () => {
    stack.freeze("worker");
    funding = await deal.escrow.createEscrow(deal.terms);
    await deal.waitForStatus("funded", PATIENT);
    assert.deepEqual(sellerHook.received, []);
    await killAndStartAgain("worker");
    await sellerHook.waitFor("escrow.funded");
    job = await shop.seller.agent.deal(deal.transactionId);
  });

  it("all processes at once, before the seller has answered the webhook", async () => {
    await isOnDisk(dir, "base-sepolia", funding.blockNumber);
    await killAndStartAgain(ALL_AT_ONCE);
    assert.strictEqual((await deal.read()).status, "funded");
  });

  it("api, while it verifies the funding", async () => {
    await killDuring(deal.reportFunding(funding.transactionHash, PATIENT), "api");
    assert.strictEqual((await deal.reportFunding(funding.transactionHash, PATIENT)).status, "funded");
  });

  it("chain-base-sepolia, which holds the funds", async () => {
    await isOnDisk(dir, "base-sepolia", funding.blockNumber);
    await killAndStartAgain("chain-base-sepolia");
    const receipt = await users.chain.client.getTransactionReceipt({ hash: funding.transactionHash });
    assert.strictEqual(receipt.blockHash, funding.blockHash);
    assert.strictEqual((await deal.read()).status, "funded");
  });

  it("mongo, while it takes the seller's payload", async () => {
    await killDuring(job.handOver(RESPONSE_PAYLOAD), "mongo");
    assert.strictEqual((await job.handOver(RESPONSE_PAYLOAD)).status, "funded");
  });

  it("graph-base-sepolia, after the block of the delivery and before it is indexed", async () => {
    stack.freeze("graph-base-sepolia");
    await job.escrow.submitDelivery(deal.terms.escrowId, deliveryProofOf(RESPONSE_PAYLOAD));
    await killAndStartAgain("graph-base-sepolia");
    await deal.waitForStatus("delivered", PATIENT);
    await buyerHook.waitFor("service.delivered");
  });

  it("postgres, which holds what the subgraphs know", async () => {
    const known = await deal.read();
    await killAndStartAgain("postgres");
    assert.deepEqual((await deal.read()).timeline, known.timeline);
  });

  it("graph-base, which follows the other network", async () => {
    await killAndStartAgain("graph-base");
    assert.strictEqual((await deal.read()).status, "delivered");
  });

  it("the process of the stack itself, right after the buyer has accepted", async () => {
    await deal.escrow.move("accept", deal.terms.escrowId);
    await killAndStartAgain(THE_STACK_ITSELF);
    await sellerHook.waitFor("escrow.released");
    assert.strictEqual((await deal.confirm(PATIENT)).status, "released");
  });

  it("and is settled once: paid, scored and announced by one event for each move", async () => {
    const { buyer, seller } = shop;
    assert.strictEqual(await users.chain.usdcOf(seller.walletAddress), deal.terms.refundableAmount);
    for (const { walletAddress } of [buyer, seller]) {
      assert.strictEqual((await users.market.score(walletAddress)).onChainScore, 1);
    }
    const listed = await collect(buyer.agent.transactions());
    assert.deepEqual(
      listed.map(({ transactionId }) => transactionId),
      [deal.transactionId],
    );

    await sellerHook.waitFor("escrow.funded", 2, REPEATED_WITHIN_MS);
    for (const [{ agent }, hook, announced] of [
      [seller, sellerHook, ["escrow.funded", "escrow.released"]],
      [buyer, buyerHook, ["service.delivered"]],
    ] as const) {
      const log = await collect(agent.events.list());
      assert.deepEqual(
        log.map(({ event }) => event),
        [...announced],
      );
      // A webhook may come again, but never under another id or with another body.
      const bodies = new Map(hook.received.map((webhook) => [eventIdOf(webhook), webhook.rawBody]));
      assert.deepEqual([...bodies.keys()].sort(), log.map(({ id }) => id).sort());
      for (const webhook of hook.received) assert.strictEqual(webhook.rawBody, bodies.get(eventIdOf(webhook)));
    }
  });
});
