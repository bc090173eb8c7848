import { assert } from "chai";

import { approveCall, createEscrowCall } from "../../../api/chain/calldata.ts";
import { sha256Hex } from "../../../api/lib/ids.ts";
import { assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { fundedDeal, openMarket } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

describe("events that an agent polls", () => {
  let api: TestApi;
  let chain: TestChain;

  before(async () => {
    api = await startTestApi({ runsLoops: true });
    chain = await openChain("base-sepolia");
  });
  after(() => api.close());

  const get = (agent: TestAgent, path: string) => api.request("GET", path, { key: agent.apiKey });

  it("[D25] come in order from the last one seen, to each agent its own", async () => {
    const own = await openMarket(api, chain);
    const deals = [await fundedDeal(own), await fundedDeal(own), await fundedDeal(own)];
    await until("all are announced", async () => (await get(own.seller, "/api/v1/events")).body.data.length === 3);
    const first = await get(own.seller, "/api/v1/events?limit=2");
    assert.deepEqual(
      first.body.data.map((event: { transactionId: string }) => event.transactionId),
      deals.slice(0, 2).map(({ transactionId }) => transactionId),
    );
    const rest = await get(own.seller, `/api/v1/events?cursor=${first.body.nextCursor}`);
    assert.deepEqual(
      rest.body.data.map((event: { transactionId: string }) => event.transactionId),
      [deals[2]?.transactionId],
    );
    const alias = await get(own.seller, `/api/v1/events?after=${first.body.nextCursor}`);
    assert.deepEqual(alias.body, rest.body);
    assertInvalid(await get(own.buyer, `/api/v1/events?after=${first.body.nextCursor}`), "query.after");
    assertInvalid(await get(own.buyer, `/api/v1/events?cursor=${first.body.nextCursor}`), "query.cursor");
    assertInvalid(await get(own.seller, "/api/v1/events?after=7"), "query.after");
  });

  it("[D10] announce an escrow without a checkout to its seller as unsolicited", async () => {
    const own = await openMarket(api, chain);
    const token = chain.deployment.tokens[0]?.address;
    assert.ok(token !== undefined);
    const target = { chainId: 84_532, escrowContract: chain.deployment.escrow };
    const escrowId = `0x${sha256Hex(own.seller.agentId)}` as const;
    await chain.send(own.buyer.account, approveCall(target, token, 1_000_000n));
    const { timestamp } = await chain.client.getBlock();
    const receipt = await chain.send(
      own.buyer.account,
      createEscrowCall(target, {
        escrowId,
        seller: own.seller.walletAddress,
        amount: 1_000_000n,
        token,
        deadline: Number(timestamp) + 10_000,
        disputeWindow: 300,
        abandonmentGrace: 3_600,
        criteriaHash: `0x${"00".repeat(32)}`,
      }),
    );
    assert.strictEqual(receipt.status, "success");
    const event = await until("it is announced", async () => (await get(own.seller, "/api/v1/events")).body.data[0]);
    assert.deepEqual(
      [event.event, event.payload.unsolicited, event.payload.escrowId],
      ["escrow.funded", true, escrowId],
    );
    for (const agent of [own.seller, own.buyer]) {
      // An agent that has just registered gets escrows without a checkout in its turn.
      const data = await until("the party sees it", async () => {
        const { status, body } = await get(agent, `/api/v1/transactions/${event.transactionId}`);
        return status === 200 && body.data;
      });
      assert.deepEqual([data.unsolicited, data.status, data.amount], [true, "funded", "1000000"]);
    }
  });
});
