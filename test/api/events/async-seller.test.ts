import { assert } from "chai";

import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { fundedDeal, openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { TestStream } from "../../fixtures/event-stream.ts";
import { openChain } from "../../fixtures/stack.ts";

describe("the seller of an async service", () => {
  let api: TestApi;
  let market: Market;
  let stream: TestStream | undefined;
  before(async () => {
    api = await startTestApi({ runsLoops: true });
    market = await openMarket(api, await openChain("base-sepolia"), { deliveryType: "async", callbackRequired: false });
  });
  after(async () => {
    stream?.close();
    await api.close();
  });

  it("[S2.2.25] [D25] gets a funded job as a server-sent event, and finds it in its queue", async () => {
    const { apiKey } = market.seller;
    stream = await TestStream.open({ url: api.url, key: apiKey });
    const { transactionId } = await fundedDeal(market, { requestPayload: { topic: "tides" } });
    await stream.holds(1);
    const [event] = stream.events;
    assert.deepEqual([event?.event, event?.transactionId], ["escrow.funded", transactionId]);
    assert.deepEqual(event?.payload["requestPayload"], { topic: "tides" });
    const queue = await api.request("GET", "/api/v1/jobs", { key: apiKey });
    assert.deepEqual(
      queue.body.data.map((job: { transactionId: string }) => job.transactionId),
      [transactionId],
    );
  });
});
