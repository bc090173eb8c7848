import { assert } from "chai";

import { MAINNET_GRADUATION_SCORE } from "../../../api/config/constants.ts";
import { assertError, readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { checkOut, createEscrow, listService, ONE_USDC } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { doorTo } from "../../fixtures/outage.ts";
import type { Door } from "../../fixtures/outage.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

const MILLI_ETHER = 10n ** 15n;

describe("checkout on the mainnet", () => {
  let api: TestApi;
  let testnetRpc: Door;
  let testnet: TestChain;
  let mainnet: TestChain;
  let seller: TestAgent;
  let graduate: TestAgent;
  let usdcService: string;
  let etherService: string;

  before(async () => {
    const stack = await readStack();
    testnetRpc = await doorTo(stack.networks["base-sepolia"].rpcUrl);
    api = await startTestApi({
      env: { rpcUrls: { "base-sepolia": testnetRpc.url, base: stack.networks.base.rpcUrl } },
    });
    [testnet, mainnet] = await Promise.all([openChain("base-sepolia"), openChain("base")]);
    [seller, graduate] = await Promise.all([api.registerAgent(), api.registerAgent()]);
    await mainnet.endow(seller.account);
    await mainnet.endow(graduate.account, { usdc: 100n * ONE_USDC, weth: 100n * MILLI_ETHER });
    await testnet.raiseScore(graduate.walletAddress, 10);
    usdcService = await listService(api, seller, { network: "base" });
    etherService = await listService(api, seller, { network: "base", currency: "ETH", price: 0.001 });
  });
  after(async () => {
    await api.close();
    await testnetRpc.close();
  });

  const order = (agent: TestAgent, fields: Record<string, unknown> = {}) =>
    api.request("POST", "/api/v1/checkout", {
      key: agent.apiKey,
      body: { serviceId: usdcService, paymentMethod: "usdc", network: "base", ...fields },
    });
  const market = (serviceId: string): Market => ({ api, chain: mainnet, buyer: graduate, seller, serviceId });

  it("[S3.4.01] [S3.4.03] [S7.20] requires a testnet score of 10: 9 is refused, 10 passes", async () => {
    assert.strictEqual(MAINNET_GRADUATION_SCORE, 10);
    const newcomer = await api.registerAgent();
    await mainnet.endow(newcomer.account, { usdc: 10n * ONE_USDC });
    await testnet.raiseScore(newcomer.walletAddress, 9);
    const refused = await order(newcomer);
    assertError(refused, 403, "testnet_graduation_required");
    assert.deepEqual(refused.body.details, { onChainScore: 9, graduationScore: 10 });
    await testnet.raiseScore(newcomer.walletAddress, 1);
    assert.strictEqual((await order(newcomer)).status, 200);
  });

  it("[S3.4.01] [D3] uses the testnet score, not the mainnet's", async () => {
    const stranger = await api.registerAgent();
    await mainnet.endow(stranger.account, { usdc: 10n * ONE_USDC });
    await mainnet.raiseScore(stranger.walletAddress, 12);
    assertError(await order(stranger), 403, "testnet_graduation_required");
  });

  it("[S3.4.02] has a gate that the testnet doesn't have: there a score of 0 is enough", async () => {
    const newcomer = await api.registerAgent();
    await testnet.endow(newcomer.account, { usdc: 10n * ONE_USDC });
    const serviceId = await listService(api, seller, { network: "base-sepolia" });
    assert.strictEqual((await order(newcomer, { serviceId, network: "base-sepolia" })).status, 200);
  });

  it("[S7.25] [D3] answers 503 with Retry-After while the score's RPC is unreachable, and works afterwards", async () => {
    const count = () => api.container.features.transactions.models.transactions.countDocuments();
    const before = await count();
    testnetRpc.isOpen = false;
    try {
      const refused = await order(graduate);
      assertError(refused, 503, "chain_unavailable");
      assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/);
      assert.strictEqual(refused.body.details.network, "base-sepolia");
      assert.strictEqual(await count(), before);
    } finally {
      testnetRpc.isOpen = true;
    }
    assert.strictEqual((await order(graduate)).status, 200);
  });

  it("[S1.12] [S1.13] [S1.14] [D2] settles USDC listings in USDC and ether listings 1:1 in WETH, side by side", async () => {
    const usdc = await checkOut(market(usdcService));
    assert.strictEqual(usdc.paymentInstructions.amount, "2500000");
    assert.strictEqual(usdc.paymentInstructions.chainId, 8_453);
    const weth = await checkOut(market(etherService), { paymentMethod: "weth", quantity: 2 });
    assert.strictEqual(weth.paymentInstructions.amount, (2n * MILLI_ETHER).toString());
    for (const checkout of [usdc, weth]) {
      const { transactionHash } = await createEscrow(market(usdcService), checkout);
      const funded = await api.request("POST", checkout.paymentInstructions.fundEndpoint, {
        key: graduate.apiKey,
        body: { txHash: transactionHash },
      });
      assert.strictEqual(funded.status, 200, funded.text);
      assert.strictEqual(funded.body.data.status, "funded");
      assert.strictEqual(funded.body.data.token, checkout.paymentInstructions.tokenAddress);
    }
    assert.notStrictEqual(usdc.paymentInstructions.tokenAddress, weth.paymentInstructions.tokenAddress);
    assert.strictEqual(usdc.paymentInstructions.escrowContract, weth.paymentInstructions.escrowContract);
  });

  it("[D2] converts at the on-chain price when the payment method is the other token", async () => {
    const weth = await checkOut(market(usdcService), { paymentMethod: "weth" });
    assert.strictEqual(weth.paymentInstructions.amount, MILLI_ETHER.toString());
    const usdc = await checkOut(market(etherService), { paymentMethod: "usdc" });
    assert.strictEqual(usdc.paymentInstructions.amount, "2500000");
  });
});
