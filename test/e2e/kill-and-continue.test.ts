// One deal from checkout to its end on a stack of its own, which loses a process to kill -9 before or in each move.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { assert } from "chai";
import type { TransactionReceipt } from "viem";

import { chainStateFile } from "../../scripts/local/chain.ts";
import { findFreePorts } from "../../scripts/local/ports.ts";
import { PORTS_PER_STACK } from "../../scripts/local/stack-ports.ts";
import type { TestAgent } from "../fixtures/api.ts";
import { act, checkOut, createEscrow, fund, openMarket, readTransaction } from "../fixtures/deals.ts";
import type { CheckoutData, DealApi, Market } from "../fixtures/deals.ts";
import { seededRandom } from "../fixtures/random.ts";
import { startReceiver } from "../fixtures/receiver.ts";
import type { TestReceiver } from "../fixtures/receiver.ts";
import { remoteApi } from "../fixtures/remote-api.ts";
import { openChain } from "../fixtures/stack.ts";
import type { PreparedCall, TestChain } from "../fixtures/stack.ts";
import { until } from "../fixtures/until.ts";
import { ALL_AT_ONCE, StackProcess, THE_STACK_ITSELF, noProcessLeft } from "./support/stack-process.ts";

/** How far into a request the latest kill comes: before, in or after its handling, as the seed has it. */
const INTO_A_REQUEST_MS = 40;
/** An attempt whose worker died goes out again when its lease of 30 s is over. */
const REPEATED_WITHIN_MS = 60_000;
const RESPONSE_PAYLOAD = { summary: "Three risks were found." };

describe("a deal goes on after kill -9 and another start", () => {
  const random = seededRandom();
  const dir = mkdtempSync(join(tmpdir(), "marketplace-kill-"));
  let portBase: number;
  let stack: StackProcess;
  let sellerHook: TestReceiver;
  let buyerHook: TestReceiver;
  let api: DealApi;
  let chain: TestChain;
  let market: Market;
  let firstBlock: string;
  let checkout: CheckoutData;
  let funding: TransactionReceipt;

  const start = async (): Promise<void> => {
    stack = new StackProcess(dir, ["--port-base", String(portBase)]);
    await stack.ready();
  };

  before(async () => {
    portBase = await findFreePorts(PORTS_PER_STACK);
    await start();
    process.env["TEST_STACK"] = join(dir, "stack.json");
    [api, chain] = await Promise.all([remoteApi(), openChain("base-sepolia")]);
    firstBlock = (await chain.client.getBlock({ blockNumber: 1n })).hash;
    // The first webhook that arrives is never answered: its worker is killed in the middle of the attempt.
    sellerHook = await startReceiver((n) => (n === 1 ? undefined : 200));
    buyerHook = await startReceiver();
    market = await openMarket(api, chain, { endpointUrl: sellerHook.url, callbackRequired: true });
    checkout = await checkOut(market, { callbackUrl: buyerHook.url });
  });
  after(async () => {
    stack.interrupt();
    await stack.ended;
    await Promise.all([sellerHook.close(), buyerHook.close()]);
    rmSync(dir, { recursive: true, force: true });
  });

  const post = (agent: TestAgent, move: "deliver" | "confirm", body: object) =>
    api.request("POST", `/api/v1/transactions/${checkout.transactionId}/${move}`, { key: agent.apiKey, body });
  const deliver = () => post(market.seller, "deliver", { responsePayload: RESPONSE_PAYLOAD });
  const transaction = () => readTransaction(api, market.buyer, checkout.transactionId);
  const reaches = (status: string) => until(`it is ${status}`, async () => (await transaction()).status === status);

  /** kill -9, then all that an operator sees: the rest ends, says why, leaves nothing, and starts again with the data. */
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
    assert.strictEqual((await chain.client.getBlock({ blockNumber: 1n })).hash, firstBlock, "the chain is the same");
    await until("everything answers", async () => {
      const { status, body } = await api.request("GET", "/ready");
      return status === 200 && Object.values<{ ok: boolean }>(body.networks).every(({ ok }) => ok);
    });
  }

  /** Both copies of the chain's state hold the block: a kill may cut the newer one short. */
  const isOnDisk = (block: bigint) =>
    until(`block ${block} is on disk`, () => {
      const copy = `${chainStateFile("base-sepolia", dir)}.bak`;
      const { best_block_number: head } = JSON.parse(readFileSync(copy, "utf8")) as { best_block_number: number };
      return Promise.resolve(BigInt(head) >= block);
    });

  /** A request under way when the service that it needs is killed: answered or broken off, both happen. */
  async function killDuring(request: Promise<unknown>, victim: string): Promise<void> {
    const settled = Promise.allSettled([request]);
    await sleep(random() * INTO_A_REQUEST_MS);
    await killAndStartAgain(victim);
    await settled;
  }

  it("chain-base, the network that it does not settle on, with the checkout just made", async () => {
    await killAndStartAgain("chain-base");
    const { status, escrowId } = await transaction();
    assert.deepEqual([status, escrowId], ["pending_funding", checkout.paymentInstructions.escrowId]);
  });

  it("worker, after the block of the funding and before its webhook", async () => {
    stack.freeze("worker");
    funding = await createEscrow(market, checkout);
    await reaches("funded");
    assert.deepEqual(sellerHook.received, []);
    await killAndStartAgain("worker");
    await sellerHook.waitFor("escrow.funded");
  });

  it("all processes at once, while the seller has not answered the webhook yet", async () => {
    await isOnDisk(funding.blockNumber);
    await killAndStartAgain(ALL_AT_ONCE);
    assert.strictEqual((await transaction()).status, "funded");
  });

  it("api, while it verifies the funding", async () => {
    await killDuring(fund(market, checkout, funding.transactionHash), "api");
    const { status, body, text } = await fund(market, checkout, funding.transactionHash);
    assert.deepEqual([status, body.data?.status], [200, "funded"], text);
  });

  it("chain-base-sepolia, which holds the funds", async () => {
    await isOnDisk(funding.blockNumber);
    await killAndStartAgain("chain-base-sepolia");
    const receipt = await chain.client.getTransactionReceipt({ hash: funding.transactionHash });
    assert.strictEqual(receipt.blockHash, funding.blockHash);
    assert.strictEqual((await transaction()).status, "funded");
  });

  it("mongo, while it takes the seller's payload", async () => {
    await killDuring(deliver(), "mongo");
    const { status, text } = await deliver();
    assert.strictEqual(status, 202, text);
  });

  it("graph-base-sepolia, after the block of the delivery and before it is indexed", async () => {
    const { body, text } = await deliver();
    const submitDelivery = body.data?.submitDelivery as PreparedCall | undefined;
    assert.ok(submitDelivery !== undefined, text);
    stack.freeze("graph-base-sepolia");
    assert.strictEqual((await chain.send(market.seller.account, submitDelivery)).status, "success");
    await killAndStartAgain("graph-base-sepolia");
    await reaches("delivered");
    await buyerHook.waitFor("service.delivered");
  });

  it("postgres, which holds what the subgraphs know", async () => {
    const known = await transaction();
    await killAndStartAgain("postgres");
    assert.deepEqual((await transaction()).timeline, known.timeline);
  });

  it("graph-base, which follows the other network", async () => {
    await killAndStartAgain("graph-base");
    assert.strictEqual((await transaction()).status, "delivered");
  });

  it("the process of the stack itself, at the moment at which the buyer has accepted", async () => {
    await act(api, chain, market.buyer, checkout.transactionId, "accept");
    await killAndStartAgain(THE_STACK_ITSELF);
    await sellerHook.waitFor("escrow.released");
    // On a busy machine the subgraph may not be at the head of the chain in time.
    const { status, body, text } = await until("the buyer confirms", async () => {
      const answer = await post(market.buyer, "confirm", {});
      return answer.status !== 503 && answer;
    });
    assert.deepEqual([status, body.data?.status], [200, "released"], text);
  });

  it("and is settled once: paid, scored and told of by one event for each move", async () => {
    const { buyer, seller } = market;
    assert.strictEqual(await chain.usdcOf(seller.walletAddress), BigInt(checkout.paymentInstructions.refundableAmount));
    for (const { walletAddress } of [buyer, seller]) {
      const { body } = await api.request("GET", `/api/v1/agents/score?address=${walletAddress}`);
      assert.strictEqual(body.onChainScore, 1);
    }
    const { body: listed } = await api.request("GET", "/api/v1/transactions", { key: buyer.apiKey });
    assert.deepEqual(
      listed.data.map(({ transactionId }: { transactionId: string }) => transactionId),
      [checkout.transactionId],
    );

    await sellerHook.waitFor("escrow.funded", 2, REPEATED_WITHIN_MS);
    for (const [agent, hook, told] of [
      [seller, sellerHook, ["escrow.funded", "escrow.released"]],
      [buyer, buyerHook, ["service.delivered"]],
    ] as const) {
      const log = (await api.request("GET", "/api/v1/events", { key: agent.apiKey })).body.data as {
        id: string;
        event: string;
      }[];
      assert.deepEqual(
        log.map(({ event }) => event),
        [...told],
      );
      // A webhook may come again, but never under another id or with other words.
      const bodies = new Map(hook.received.map(({ headers, rawBody }) => [headers["x-service-event-id"], rawBody]));
      assert.deepEqual([...bodies.keys()].sort(), log.map(({ id }) => id).sort());
      for (const { headers, rawBody } of hook.received) {
        assert.strictEqual(rawBody, bodies.get(headers["x-service-event-id"]));
      }
    }
  });
});
