// Rolls the chain back.

import { assert } from "chai";

import { eventIdOf } from "../../../scripts/demo/receiver.ts";
import { collect } from "../../../sdk/src/index.ts";
import type { Agent } from "../../../sdk/src/index.ts";
import { fundedDeal, openFullStack, openShop, PATIENT } from "../../fixtures/full-stack.ts";
import type { FullStack } from "../../fixtures/full-stack.ts";
import { startReceiver } from "../../fixtures/receiver.ts";
import type { TestReceiver } from "../../fixtures/receiver.ts";
import { until } from "../../fixtures/until.ts";

/** Blocks mined on the new branch beyond the length of the old one. */
const AHEAD = 3;

describe("a reorganisation of the chain", () => {
  let stack: FullStack;
  let hook: TestReceiver;

  before(async () => {
    stack = await openFullStack();
    hook = await startReceiver();
  });
  after(() => hook.close());

  const eventsOf = (agent: Agent) => collect(agent.events.list());

  it("[D37] withdraws a funding that is no longer on chain, tells both parties, and announces it again with another id", async () => {
    const { chain } = stack;
    const shop = await openShop(stack, { endpointUrl: hook.url });
    const { deal, job } = await fundedDeal(shop);
    const [funded] = await hook.waitFor("escrow.funded");

    const { timeline } = await deal.read();
    const fundedIn = timeline.find(({ event }) => event === "EscrowCreated")?.blockNumber ?? 0;
    const head = Number(await chain.client.getBlockNumber({ cacheTime: 0 }));
    await chain.rollBackTo(fundedIn - 1);
    await chain.client.mine({ blocks: head - fundedIn + 1 + AHEAD });

    await deal.waitForStatus("pending_funding", PATIENT);
    const [reorged] = await hook.waitFor("escrow.reorged");
    assert.deepEqual(
      [reorged.body.transactionId, reorged.body.withdrawn, reorged.body.withdrawnEventIds],
      [deal.transactionId, "EscrowCreated", [eventIdOf(funded)]],
    );
    assert.deepEqual(
      (await eventsOf(shop.buyer.agent)).map(({ event }) => event),
      ["escrow.reorged"],
    );

    // Nobody reports the new funding to the API.
    await deal.escrow.approve(deal.terms.token, deal.terms.amount);
    await deal.escrow.createEscrow(deal.terms);
    await deal.waitForStatus("funded", PATIENT);
    const log = await until("it is announced again", async () => {
      const events = await eventsOf(shop.seller.agent);
      return events.length >= 3 ? events : undefined;
    });
    assert.deepEqual(
      log.map(({ event }) => event),
      ["escrow.funded", "escrow.reorged", "escrow.funded"],
    );
    assert.notStrictEqual(log[0]?.id, log[2]?.id);
    assert.strictEqual((await job.read()).escrowId, deal.terms.escrowId);
  });
});
