import { randomBytes } from "node:crypto";

import { assert } from "chai";

import { buildDispatches } from "../../../api/features/outbox/enqueue.ts";
import { createDispatchLog } from "../../../api/features/webhooks/dispatches/log.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";

describe("pages of deliveries", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.close());

  it("[D23] [D38] lose and repeat nothing, although many were created in the same millisecond", async () => {
    const { dispatches } = api.container.features.outbox.models;
    const agentId = `agt_${randomBytes(8).toString("hex")}`;
    // Of today: the database deletes old ones whenever it looks.
    const later = new Date();
    const earlier = new Date(later.getTime() - 1_000);
    const made = [earlier, earlier, earlier, later, later, later, later].flatMap((createdAt, n) =>
      buildDispatches(
        {
          eventId: `evt_${n}`,
          eventType: "message.received",
          transactionId: null,
          orderKey: null,
          seq: n,
          bodyJson: null,
        },
        [{ agentId, url: "https://agent.example/" }],
        createdAt,
      ),
    );
    await dispatches.insertMany(made);
    const newestFirst = made.toSorted(
      (one, other) => other.createdAt.getTime() - one.createdAt.getTime() || (one._id < other._id ? 1 : -1),
    );
    const log = createDispatchLog(dispatches);
    for (const limit of [1, 2, 3, made.length]) {
      const pages: string[][] = [];
      for (let cursor: { createdAt: number; id: string } | null | undefined; cursor !== null;) {
        const page = await log.list(agentId, { limit, cursor });
        pages.push(page.dispatches.map(({ _id }) => _id));
        cursor = pages.length > made.length ? null : page.next;
      }
      assert.deepEqual(
        pages.flat(),
        newestFirst.map(({ _id }) => _id),
        `${limit} a page`,
      );
      assert.lengthOf(pages, Math.ceil(made.length / limit));
    }
  });
});
