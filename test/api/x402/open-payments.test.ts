// Money for a few calls, and many signed payments at once.
import { assert } from "chai";

import { listingBody } from "../../fixtures/api.ts";
import { CALL_UNITS, headerV1, headerV2, signTransfer, startPaidApi } from "../../fixtures/payments.ts";
import type { PaidApi } from "../../fixtures/payments.ts";

const SERVICES = "/api/v1/services";
const AT_ONCE = 10;

describe("signed payments of one wallet at once", () => {
  let paid: PaidApi;

  before(async () => {
    // On a loaded machine the later payments may be refused only after more than the usual patience.
    paid = await startPaidApi({ timings: { x402PatienceMs: 60_000 } });
  });
  after(() => paid.close());

  for (const affordable of [1, 3]) {
    it(`pay for no more calls than the wallet has money for: ${affordable} of ${AT_ONCE} [D36]`, async () => {
      const agent = await paid.api.registerAgent();
      await paid.chain.endow(agent.account, { usdc: BigInt(affordable) * CALL_UNITS.api });
      const payments = await Promise.all(Array.from({ length: AT_ONCE }, () => signTransfer(paid, agent.account)));
      const answers = await Promise.all(
        payments.map((payment, index) =>
          paid.api.request("POST", SERVICES, {
            key: agent.apiKey,
            body: listingBody({ title: `Listing ${index}` }),
            headers: index % 2 === 0 ? headerV1(payment) : headerV2(paid, payment),
          }),
        ),
      );
      const served = answers.filter(({ status }) => status === 201);
      const refused = answers.filter(({ status }) => status === 402);
      assert.deepEqual([served.length, refused.length], [affordable, AT_ONCE - affordable]);
      for (const { body } of refused) assert.deepEqual(body.details, { reason: "insufficient_balance" });

      const { connection } = paid.api.container;
      const listings = await connection.collection("listings").find({ sellerAgentId: agent.agentId }).toArray();
      assert.sameMembers(
        listings.map(({ _id }) => String(_id)),
        served.map(({ body }) => body.data.id as string),
      );
      const claims = await connection.collection("x402_claims").find({ agentId: agent.agentId }).toArray();
      assert.deepEqual(
        claims.map(({ state }) => String(state)),
        served.map(() => "spent"),
      );
      assert.strictEqual(await paid.chain.usdcOf(agent.walletAddress), 0n);
    });
  }

  it("all count if the wallet has money for each", async () => {
    const agent = await paid.api.registerAgent();
    await paid.chain.endow(agent.account, { usdc: BigInt(AT_ONCE) * CALL_UNITS.api });
    const payments = await Promise.all(Array.from({ length: AT_ONCE }, () => signTransfer(paid, agent.account)));
    const answers = await Promise.all(
      payments.map((payment) => paid.api.request("GET", SERVICES, { key: agent.apiKey, headers: headerV1(payment) })),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      payments.map(() => 200),
    );
    assert.strictEqual(await paid.chain.usdcOf(agent.walletAddress), 0n);
  });
});
