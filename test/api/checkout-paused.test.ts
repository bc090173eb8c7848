import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { encodeAbiParameters, encodeFunctionData } from "viem";

import { createChainClient } from "../../api/chain/chain-client.ts";
import { escrowAbi } from "../../api/chain/abis.ts";
import { assertError, readStack, startTestApi } from "../fixtures/api.ts";
import type { TestApi } from "../fixtures/api.ts";
import { checkOut, openMarket } from "../fixtures/deals.ts";
import type { Market } from "../fixtures/deals.ts";
import { doorTo } from "../fixtures/outage.ts";
import type { Door } from "../fixtures/outage.ts";
import { openChain } from "../fixtures/stack.ts";
import type { TestChain } from "../fixtures/stack.ts";

/** A JSON-RPC call and its answer, alone or in a batch. */
interface RpcCall {
  id: number;
  method: string;
  params: { to?: string; data?: string }[];
}
interface RpcAnswer {
  id: number;
  result: unknown;
}

const PAUSED = encodeFunctionData({ abi: escrowAbi, functionName: "paused" });
const TRUE = encodeAbiParameters([{ type: "bool" }], [true]);

describe("checkout while the escrow contract takes no new escrows", () => {
  let api: TestApi;
  let chain: TestChain;
  let rpc: Door;
  let market: Market;

  before(async () => {
    const stack = await readStack();
    rpc = await doorTo(stack.networks["base-sepolia"].rpcUrl);
    api = await startTestApi({ env: { rpcUrls: { "base-sepolia": rpc.url, base: stack.networks.base.rpcUrl } } });
    chain = await openChain("base-sepolia");
    market = await openMarket(api, chain);
  });
  after(async () => {
    await api.close();
    await rpc.close();
  });

  const isPausedCall = ({ method, params: [call] }: RpcCall) =>
    method === "eth_call" && call?.data === PAUSED && call.to?.toLowerCase() === chain.deployment.escrow.toLowerCase();

  /** The chain is shared with other tests, which need it open: only this API sees it paused. */
  function pause(): void {
    rpc.translate = (request: RpcCall | RpcCall[], answer: RpcAnswer | RpcAnswer[]) => {
      const paused = new Set(
        [request]
          .flat()
          .filter(isPausedCall)
          .map(({ id }) => id),
      );
      const shown = [answer].flat().map((one) => (paused.has(one.id) ? { ...one, result: TRUE } : one));
      return Array.isArray(answer) ? shown : shown[0];
    };
  }

  it("is a 503 new_escrows_paused with Retry-After that quotes nothing, and works again afterwards", async () => {
    const count = () => api.container.deals.models.transactions.countDocuments();
    const before = await count();
    pause();
    try {
      const body = { serviceId: market.serviceId, paymentMethod: "usdc" };
      const answer = await api.request("POST", "/api/v1/checkout", { key: market.buyer.apiKey, body });
      assertError(answer, 503, "new_escrows_paused");
      assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/);
      assert.deepEqual(answer.body.details, { network: "base-sepolia", escrowContract: chain.deployment.escrow });
      assert.equal(await count(), before);
    } finally {
      delete rpc.translate;
    }
    await checkOut(market);
    assert.equal(await count(), before + 1);
  });

  it("is asked in the one round trip that reads the other limits of an escrow", async () => {
    const exchanges: RpcCall[][] = [];
    rpc.translate = (request: RpcCall | RpcCall[], answer: unknown) => {
      exchanges.push([request].flat());
      return answer;
    };
    try {
      const client = createChainClient({ network: "base-sepolia", rpcUrl: rpc.url, deployment: chain.deployment });
      const limits = await client.escrowLimits({
        buyer: market.buyer.walletAddress,
        seller: market.seller.walletAddress,
        token: chain.deployment.tokens[0]?.address ?? "0x",
        amount: 2_500_000n,
      });
      assert.equal(limits.paused, false);
      assert.equal(exchanges.length, 1);
      const [calls = []] = exchanges;
      assert.deepEqual([calls.length, calls.filter(isPausedCall).length], [4, 1]);
    } finally {
      delete rpc.translate;
    }
  });
});
