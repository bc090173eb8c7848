// A chain that takes blocks back: this file rolls the local chain back, so it has the stack for itself.

import { assert } from "chai";

import type { TestAgent } from "../../fixtures/api.ts";
import { createEscrow, fundedDeal, openMarket, readTransaction } from "../../fixtures/deals.ts";
import type { DealApi } from "../../fixtures/deals.ts";
import { startReceiver } from "../../fixtures/receiver.ts";
import type { TestReceiver } from "../../fixtures/receiver.ts";
import { remoteApi } from "../../fixtures/remote-api.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

/** Blocks mined on the new branch beyond the length of the old one. */
const AHEAD = 3;

describe("a reorganisation of the chain", () => {
  let api: DealApi;
  let chain: TestChain;
  let hook: TestReceiver;

  before(async () => {
    api = await remoteApi();
    chain = await openChain("base-sepolia");
    hook = await startReceiver();
  });
  after(() => hook.close());

  const eventsOf = async (agent: TestAgent) =>
    (await api.request("GET", "/api/v1/events", { key: agent.apiKey })).body.data as { id: string; event: string }[];

  it("[D37] withdraws a funding that is no longer on chain, tells both parties, and announces it anew with another id", async () => {
    const market = await openMarket(api, chain, { endpointUrl: hook.url });
    const checkout = await fundedDeal(market);
    const { transactionId } = checkout;
    const [funded] = await hook.waitFor("escrow.funded");
    const { escrowId } = checkout.paymentInstructions;

    const { timeline } = await readTransaction(api, market.buyer, transactionId);
    const fundedIn = timeline.find(({ event }: { event: string }) => event === "EscrowCreated").blockNumber as number;
    const head = Number(await chain.client.getBlockNumber({ cacheTime: 0 }));
    await chain.rollBackTo(fundedIn - 1);
    await chain.client.mine({ blocks: head - fundedIn + 1 + AHEAD });

    await until("the funding is withdrawn", async () => {
      const { status } = await readTransaction(api, market.buyer, transactionId);
      return status === "pending_funding";
    });
    const [reorged] = await hook.waitFor("escrow.reorged");
    assert.deepEqual(
      [reorged?.body.transactionId, reorged?.body.withdrawn, reorged?.body.withdrawnEventIds],
      [transactionId, "EscrowCreated", [funded?.headers["x-service-event-id"]]],
    );
    assert.deepEqual(
      (await eventsOf(market.buyer)).map(({ event }) => event),
      ["escrow.reorged"],
    );

    await createEscrow(market, checkout);
    await until("it is funded again", async () => {
      return (await readTransaction(api, market.buyer, transactionId)).status === "funded";
    });
    const log = await until("it is announced again", async () => {
      const events = await eventsOf(market.seller);
      return events.length >= 3 ? events : undefined;
    });
    assert.deepEqual(
      log.map(({ event }) => event),
      ["escrow.funded", "escrow.reorged", "escrow.funded"],
    );
    assert.notStrictEqual(log[0]?.id, log[2]?.id);
    assert.strictEqual((await readTransaction(api, market.seller, transactionId)).escrowId, escrowId);
  });
});
