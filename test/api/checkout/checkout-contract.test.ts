import { assert } from "chai";
import {
  encodeAbiParameters,
  encodeErrorResult,
  encodeFunctionData,
  encodeFunctionResult,
  getAbiItem,
  toFunctionSelector,
  zeroAddress,
} from "viem";

import { createChainClient } from "../../../api/chain/chain-client.ts";
import { escrowAbi } from "../../../api/chain/abis.ts";
import { assertError, readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { checkOut, openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { doorTo } from "../../fixtures/outage.ts";
import type { Door } from "../../fixtures/outage.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

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
const TOKEN_CONFIG = toFunctionSelector(getAbiItem({ abi: escrowAbi, name: "tokenConfig" }));
const USD_VALUE = toFunctionSelector(getAbiItem({ abi: escrowAbi, name: "usdValue" }));

/** The chain is shared with other tests, so only the API here sees it changed. */
describe("checkout with the escrow contract's current settings", () => {
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

  const isCallOf =
    (calldata: string) =>
    ({ method, params: [call] }: RpcCall) =>
      method === "eth_call" &&
      call?.data?.startsWith(calldata) === true &&
      call.to?.toLowerCase() === chain.deployment.escrow.toLowerCase();
  const isPausedCall = isCallOf(PAUSED);

  /** Changes the answers that the API sees from the escrow contract to calls whose data starts with a selector. */
  function answerWith(answers: Readonly<Record<string, Pick<RpcAnswer, "result"> | { error: unknown }>>): void {
    rpc.translate = (request: RpcCall | RpcCall[], answer: RpcAnswer | RpcAnswer[]) => {
      const calls = [request].flat();
      const shown = [answer].flat().map((one) => {
        const call = calls.find(({ id }) => id === one.id);
        const other = Object.entries(answers).find(([data]) => call !== undefined && isCallOf(data)(call))?.[1];
        return other === undefined ? one : { jsonrpc: "2.0", id: one.id, ...other };
      });
      return Array.isArray(answer) ? shown : shown[0];
    };
  }
  const count = () => api.container.features.transactions.models.transactions.countDocuments();
  const order = () =>
    api.request("POST", "/api/v1/checkout", {
      key: market.buyer.apiKey,
      body: { serviceId: market.serviceId, paymentMethod: "usdc" },
    });

  it("answers 503 new_escrows_paused with Retry-After while new escrows are paused, quotes nothing, and works again afterwards", async () => {
    const before = await count();
    answerWith({ [PAUSED]: { result: TRUE } });
    try {
      const answer = await order();
      assertError(answer, 503, "new_escrows_paused");
      assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/);
      assert.deepEqual(answer.body.details, { network: "base-sepolia", escrowContract: chain.deployment.escrow });
      assert.strictEqual(await count(), before);
    } finally {
      delete rpc.translate;
    }
    await checkOut(market);
    assert.strictEqual(await count(), before + 1);
  });

  it("[D10] answers 422 for a delisted token and for less than the current minimum deposit", async () => {
    const before = await count();
    const config = { feed: zeroAddress, maxPriceAge: 0, decimals: 6, listed: true, minAmount: 2_500_001n };
    const returned = (result: typeof config) =>
      encodeFunctionResult({ abi: escrowAbi, functionName: "tokenConfig", result });
    const [token] = chain.deployment.tokens;
    const data = encodeErrorResult({ abi: escrowAbi, errorName: "TokenNotListed", args: [token?.address ?? "0x"] });
    try {
      answerWith({
        [TOKEN_CONFIG]: { result: returned({ ...config, listed: false, minAmount: 0n }) },
        [USD_VALUE]: { error: { code: 3, message: "execution reverted", data } },
      });
      const unlisted = await order();
      assertError(unlisted, 422, "payment_method_not_supported");
      assert.deepEqual(unlisted.body.details, { paymentMethod: "usdc", network: "base-sepolia" });

      answerWith({ [TOKEN_CONFIG]: { result: returned(config) } });
      const small = await order();
      assertError(small, 422, "amount_out_of_range");
      assert.deepEqual([small.body.details.amount, small.body.details.minimum], ["2500000", "2500001"]);
    } finally {
      delete rpc.translate;
    }
    assert.strictEqual(await count(), before);
  });

  it("reads them in the same round trip as the other limits of an escrow", async () => {
    const exchanges: RpcCall[][] = [];
    const client = createChainClient({ network: "base-sepolia", rpcUrl: rpc.url, deployment: chain.deployment });
    await client.assertChainId();
    rpc.translate = (request: RpcCall | RpcCall[], answer: unknown) => {
      exchanges.push([request].flat());
      return answer;
    };
    try {
      const limits = await client.escrowLimits({
        buyer: market.buyer.walletAddress,
        seller: market.seller.walletAddress,
        token: chain.deployment.tokens[0]?.address ?? "0x",
        amount: 2_500_000n,
      });
      assert.strictEqual(limits.paused, false);
      assert.strictEqual(exchanges.length, 1);
      const [calls = []] = exchanges;
      assert.deepEqual([calls.length, calls.filter(isPausedCall).length], [5, 1]);
    } finally {
      delete rpc.translate;
    }
  });
});
