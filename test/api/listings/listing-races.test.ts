// What happens between two steps of a request, with the other party's step in exactly that place.
import { assert } from "chai";

import { createTradeGate } from "../../../api/features/agents/trade-gate.ts";
import { createIntents } from "../../../api/features/intents/intents.ts";
import { listListings } from "../../../api/features/listings/list.ts";
import { ListingService } from "../../../api/features/listings/service.ts";
import { listListingsQuery } from "../../../api/features/listings/schemas.ts";
import type { Caller } from "../../../api/http/define-route.ts";
import { ApiError } from "../../../api/http/errors.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";
import { serviceCalls } from "../../fixtures/services.ts";

describe("a listing that changes during a request", () => {
  let api: TestApi;
  let seller: TestAgent;
  const { create, archive, read } = serviceCalls(() => ({ api, seller }));
  before(async () => {
    api = await startTestApi();
    seller = await api.registerAgent();
  });
  after(() => api.close());

  const caller = (): Caller => ({ agentId: seller.agentId, walletAddress: seller.walletAddress, keyId: "key_test" });
  const listings = () => api.container.features.listings.models.listings;

  it("stays archived if it is archived between a change's read and its write", async () => {
    const id = await create();
    const embedder = {
      // The change embeds the new title after it has read the listing.
      async embed() {
        assert.strictEqual((await archive(id)).status, 200);
        return null;
      },
    };
    const { connection, clock } = api.container;
    const service = new ListingService({
      connection,
      intents: createIntents(connection),
      listings: listings(),
      embedder,
      clock,
      gate: createTradeGate(connection),
    });
    const error = await rejectionOf(service.change(caller(), id, { title: "Another title" }), ApiError);
    assert.strictEqual(error.code, "service_archived");
    const { body } = await read(id);
    assert.deepEqual([body.data.status, body.data.title], ["archived", "Invoice reconciliation"]);
  });

  it("isn't found by a search whose index hasn't noticed yet that it is archived", async () => {
    const [gone, left] = [await create(), await create()];
    assert.strictEqual((await archive(gone)).status, 200);
    const { standings } = api.container.features.agents;
    const search = { find: () => Promise.resolve([gone, left].map((id) => ({ id, explanation: {} as never }))) };
    const etherPrice = { usd: () => Promise.reject(new Error("no price is needed")) };
    const query = listListingsQuery.parse({ q: "invoices" });
    const deps = { listings: listings(), search, standings, etherPrice: etherPrice as never };
    const { listings: found } = await listListings(caller(), query, deps);
    assert.deepEqual(
      found.map(({ id }) => id),
      [left],
    );
  });
});
