// Deals that nobody ends, on a stack of its own with the local stack's keeper.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assert } from "chai";

import { escrowAbi } from "../../api/chain/abis.ts";
import { localAccount } from "../../scripts/local/facts.ts";
import { findFreePorts } from "../../scripts/local/ports.ts";
import { PORTS_PER_STACK } from "../../scripts/local/stack-ports.ts";
import type { Deal } from "../../sdk/src/index.ts";
import { fundedDeal, openFullStack, openShop, PATIENT } from "../fixtures/full-stack.ts";
import type { FullStack, Shop } from "../fixtures/full-stack.ts";
import { until } from "../fixtures/until.ts";
import { StackProcess } from "./support/stack-process.ts";

const DEALS = 2;
/** More than a payload's time and the margin of its announcement. The keeper goes by the chain's clock where that is ahead. */
const PAYLOAD_SECONDS = 90;

describe("a stack with a keeper", () => {
  const keeper = localAccount(10).address;
  const dir = mkdtempSync(join(tmpdir(), "marketplace-keeper-"));
  let stack: StackProcess;
  let users: FullStack;
  let shop: Shop;

  before(async () => {
    const portBase = await findFreePorts(PORTS_PER_STACK);
    stack = new StackProcess(dir, ["--port-base", String(portBase)]);
    await stack.ready();
    process.env["TEST_STACK"] = join(dir, "stack.json");
    users = await openFullStack();
    shop = await openShop(users);
  });
  after(async () => {
    stack.interrupt();
    await stack.ended;
    rmSync(dir, { recursive: true, force: true });
  });

  const releasesOf = async (deal: Deal) => {
    const { client, deployment } = users.chain;
    const logs = await client.getContractEvents({
      address: deployment.escrow,
      abi: escrowAbi,
      eventName: "EscrowReleased",
      args: { escrowId: deal.terms.escrowId },
      fromBlock: 0n,
    });
    return Promise.all(
      logs.map(async ({ transactionHash: hash, args: { automatic } }) => {
        const { from } = await client.getTransaction({ hash });
        return { from: from.toLowerCase(), automatic };
      }),
    );
  };

  it("releases deals by one transaction each once their windows are over, and leaves one without a payload [S3.2.20] [D26]", async () => {
    const deals: Deal[] = [];
    for (let made = 0; made < DEALS; made += 1) {
      const { deal, job } = await fundedDeal(shop);
      await job.deliver({ answer: 42 }, PATIENT);
      deals.push(deal);
    }
    const { deal: bare, job: bareJob } = await fundedDeal(shop);
    await bareJob.escrow.submitDelivery(bare.terms.escrowId, `0x${"11".repeat(32)}`);
    const delivered = await users.chain.client.getBlock();
    await users.chain.moveClockTo(Number(delivered.timestamp) + PAYLOAD_SECONDS);
    await until("the buyer is told that the payload is overdue", async () => {
      const { body } = await shop.buyer.agent.request<{ data: { event: string; transactionId: string }[] }>({
        method: "GET",
        path: `/api/v1/events?transactionId=${bare.transactionId}`,
      });
      return body.data.some(({ event }) => event === "delivery.overdue");
    });
    assert.isTrue(
      (await bare.read()).actions.some(({ action }) => action === "openDispute"),
      "in time to dispute",
    );

    const { timestamp } = await users.chain.client.getBlock();
    await users.chain.moveClockTo(Number(timestamp + bare.terms.disputeWindow) + 1);
    for (const deal of deals) {
      const { status, automatic } = await deal.waitForStatus(["released"], PATIENT);
      assert.deepEqual([status, automatic], ["released", true]);
      assert.deepEqual(await releasesOf(deal), [{ from: keeper.toLowerCase(), automatic: true }]);
    }
    assert.strictEqual((await bare.read()).status, "delivered");
    assert.deepEqual(await releasesOf(bare), []);
    const sent = await users.chain.client.getTransactionCount({ address: keeper as `0x${string}` });
    assert.strictEqual(sent, DEALS);
  });
});
