import { assert } from "chai";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import { startSeller } from "../../sdk/examples/start-seller.ts";
import { ApiError, ArgumentError, collect, Marketplace } from "../../sdk/src/index.ts";
import type { Wallet } from "../../sdk/src/index.ts";
import { startTestApi } from "../fixtures/api.ts";
import type { TestApi } from "../fixtures/api.ts";
import { PUBLIC_URL } from "../fixtures/environment.ts";
import { listing } from "../fixtures/full-stack.ts";
import { rejectionOf } from "../fixtures/rejection.ts";
import { openChain } from "../fixtures/stack.ts";
import type { TestChain } from "../fixtures/stack.ts";

describe("a program that is started with a wallet", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Marketplace;
  before(async () => {
    api = await startTestApi();
    chain = await openChain("base-sepolia");
    market = new Marketplace({ url: api.url, publicUrl: PUBLIC_URL });
  });
  after(() => api.close());

  const newWallet = (): Wallet => chain.walletOf(privateKeyToAccount(generatePrivateKey()));

  it("registers it the first time, and signs in for another key from then on", async () => {
    const wallet = newWallet();
    const first = await market.registerOrSignIn({ agentName: "Owl", wallet });
    const second = await market.registerOrSignIn({ agentName: "Another name", wallet });
    assert.deepEqual([first.isNew, second.isNew], [true, false]);
    assert.strictEqual(second.agentId, first.agentId);
    assert.notStrictEqual(second.apiKey, first.apiKey);
    const usages = await Promise.all([first, second].map(({ agent }) => agent.account.usage()));
    assert.deepEqual(
      usages.map(({ agentId }) => agentId),
      [first.agentId, first.agentId],
    );
    assert.strictEqual((await second.agent.registry.get(first.agentId)).agentName, "Owl");
  });

  it("ends the other keys at once where that is asked for", async () => {
    const wallet = newWallet();
    const { agent } = await market.registerOrSignIn({ agentName: "Owl", wallet });
    await market.registerOrSignIn({ agentName: "Owl", wallet, revokeOthersAfterSeconds: 0 });
    assert.strictEqual((await rejectionOf(agent.account.usage(), ApiError)).code, "invalid_api_key");
  });

  it("becomes one agent where two are started at once", async () => {
    const wallet = newWallet();
    const both = await Promise.all([1, 2].map(() => market.registerOrSignIn({ agentName: "Owl", wallet })));
    assert.deepEqual(both.map(({ isNew }) => isNew).sort(), [false, true]);
    assert.strictEqual(new Set(both.map(({ agentId }) => agentId)).size, 1);
    for (const { agent } of both) await agent.account.usage();
  });

  it("signs nothing in for a registration that is refused for another reason", async () => {
    const error = await rejectionOf(market.registerOrSignIn({ agentName: "", wallet: newWallet() }), ApiError);
    assert.strictEqual(error.code, "validation_error");
    const wrong = { agentName: "Owl", wallet: newWallet(), revokeOthersAfterSeconds: 86_401 };
    const { bound } = await rejectionOf(market.registerOrSignIn(wrong), ArgumentError);
    assert.strictEqual(bound, "a whole number from 0 to 86400");
  });

  it("is known to the local stack once it says that its key was made for it, and elsewhere there is nothing to say", async () => {
    const wallet = newWallet();
    assert.isFalse(await market.listStackWallet({ wallet }));
    const stack = await startTestApi({ env: { isLocalStack: true } });
    const there = new Marketplace({ url: stack.url, publicUrl: PUBLIC_URL });
    const answers = await Promise.all([1, 2, 3].map(() => there.listStackWallet({ wallet })));
    assert.deepEqual(answers, [true, true, true]);
    const { stackWallets } = stack.container.features.stackWallets.models;
    assert.strictEqual(await stackWallets.countDocuments({ _id: wallet.account.address.toLowerCase() }), 1);
    const elsewhere = new Marketplace({ url: stack.url, publicUrl: "https://other.test" });
    const error = await rejectionOf(elsewhere.listStackWallet({ wallet: newWallet() }), ApiError);
    assert.strictEqual(error.code, "sign_in_message_invalid");
    assert.strictEqual(await stackWallets.countDocuments(), 1);
    await stack.close();
  });

  it("lists its service once, as the example does", async () => {
    const shop = { wallet: newWallet(), agentName: "Owl", listing: listing() };
    const { isNew } = await startSeller(market, shop);
    const { agent, agentId, isNew: isNewAgain } = await startSeller(market, shop);
    assert.deepEqual([isNew, isNewAgain], [true, false]);
    assert.lengthOf(await collect(agent.listings.list({ sellerId: agentId })), 1);
  });
});
