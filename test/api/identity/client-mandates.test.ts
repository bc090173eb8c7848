// Keys with a mandate by the client.
import { assert } from "chai";

import { ApiError, ArgumentError, Marketplace } from "../../../sdk/src/index.ts";
import type { Mandate } from "../../../sdk/src/index.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { PUBLIC_URL } from "../../fixtures/environment.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

describe("the client's keys", () => {
  let api: TestApi;
  let chain: TestChain;
  let owner: TestAgent;
  before(async () => {
    api = await startTestApi();
    chain = await openChain("base-sepolia");
    owner = await api.registerAgent();
  });
  after(() => api.close());

  const mandate = (): Mandate => ({
    scopes: ["read", "buy"],
    perDealUsd: 5_000_000n,
    perDayUsd: 12_500_000n,
    totalUsd: 100_000_000n,
    notAfter: new Date(Date.now() + 3_600_000),
    networks: ["base-sepolia"],
  });

  it("[D57] are issued for a mandate, listed, revoked and frozen", async () => {
    const market = new Marketplace({ url: api.url, publicUrl: PUBLIC_URL });
    const wallet = chain.walletOf(owner.account);
    const agent = market.agent({ apiKey: owner.apiKey, wallet });
    const one = await market.issueKey({ wallet, mandate: mandate() });
    const other = await market.issueKey({ wallet, mandate: mandate() });
    assert.isNull(one.othersEndAt);
    assert.isString(one.expiresAt);
    const [own, first] = await agent.keys.list();
    assert.isTrue(own?.current);
    assert.strictEqual(first?.keyId, one.keyId);
    assert.deepEqual(first?.mandate?.left, { perDealUsd: "5", todayUsd: "12.5", totalUsd: "100" });

    const error = await rejectionOf(other.agent.keys.list(), ApiError);
    assert.strictEqual(error.code, "scope_not_granted");
    await agent.keys.revoke(one.keyId);
    assert.strictEqual((await rejectionOf(one.agent.account.usage(), ApiError)).status, 401);
    await agent.keys.freeze();
    assert.strictEqual((await rejectionOf(other.agent.account.usage(), ApiError)).status, 401);
    assert.lengthOf(await agent.keys.list(), 1);
  });

  it("name a wrong bound before anything is signed", async () => {
    const market = new Marketplace({ url: api.url, publicUrl: PUBLIC_URL });
    const wallet = chain.walletOf(owner.account);
    const wrong = { ...mandate(), perDealUsd: 5 as never };
    const error = await rejectionOf(market.issueKey({ wallet, mandate: wrong }), ArgumentError);
    assert.strictEqual(error.argument, "mandate.perDealUsd");
  });
});
