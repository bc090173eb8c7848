import { assert } from "chai";

import type { Role } from "../../../api/features/transactions/actions.ts";
import { createJobAccess } from "../../../api/features/transactions/job-access.ts";
import { TRANSACTION_STATUSES } from "../../../api/features/transactions/model.ts";
import type { TransactionRecord } from "../../../api/features/transactions/model.ts";

const ENDPOINT = "https://seller.example/work";

describe("the seller's address of an api_response job", () => {
  const access = createJobAccess({
    endpoints: { endpointUrls: () => Promise.resolve(new Map([["lst_1", ENDPOINT]])) },
    secrets: { stateOf: () => Promise.resolve({ secret: "whsec_1", rotation: 0, next: null }) },
    issuer: "https://market.test",
  });
  const urlFor = async (fields: Partial<TransactionRecord>, role: Role = "buyer") => {
    const record = { serviceId: "lst_1", sellerAgentId: "agt_seller", deliveryType: "api_response", ...fields };
    return (await access({ record: record as TransactionRecord, role }))?.url;
  };

  for (const status of TRANSACTION_STATUSES) {
    const isShown = status === "funded";
    it(`[D24] is ${isShown ? "shown" : "not shown"} to the buyer of a job that is ${status}`, async () => {
      assert.strictEqual(await urlFor({ status }), isShown ? ENDPOINT : undefined);
    });
  }

  it("[D24] isn't part of what the seller reads, or of a job with another kind of delivery", async () => {
    assert.isUndefined(await urlFor({ status: "funded" }, "seller"));
    assert.isUndefined(await urlFor({ status: "funded", deliveryType: "webhook" }));
  });
});
