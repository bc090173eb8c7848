// Funding without gas: the buyer signs, another wallet sends (decision 13).
import { assert } from "chai";
import { encodeFunctionData, parseAbi, recoverTypedDataAddress } from "viem";
import type { Abi } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import { escrowAbi } from "../../../api/chain/abis.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { checkOut, fund, listService, ONE_USDC, openMarket, readTransaction } from "../../fixtures/deals.ts";
import type { GaslessFunding, Market } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

const PRICE_UNITS = 2_500_000n;
const FUNDED = 1;

/** Calldata that a caller builds from the answer alone. */
function encodeRelay({ abi: signature, functionName }: GaslessFunding["relay"], args: unknown[]): `0x${string}` {
  const abi: Abi = parseAbi([signature]);
  return encodeFunctionData({ abi, functionName, args });
}

describe("funding without gas", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Market;
  const relayer = privateKeyToAccount(generatePrivateKey());

  before(async () => {
    api = await startTestApi();
    chain = await openChain("base-sepolia");
    market = await openMarket(api, chain);
    await chain.endow(relayer);
  });
  after(() => api.close());

  /** A checkout by a buyer without gas or approvals, with the buyer's signature. */
  async function signed() {
    const checkout = await checkOut(market);
    const { gasless } = checkout.paymentInstructions;
    assert.ok(gasless !== null);
    const signature = await market.buyer.account.signTypedData(gasless.typedData);
    return { checkout, gasless, signature };
  }

  it("[D13] becomes a funded escrow when another wallet sends what the buyer has signed", async () => {
    await chain.client.setBalance({ address: market.buyer.walletAddress, value: 0n });
    const { checkout, gasless, signature } = await signed();
    const before = await chain.usdcOf(market.buyer.walletAddress);
    const data = gasless.relay.dataTemplate.replace("{signature}", signature.slice(2));
    const receipt = await chain.send(relayer, { to: gasless.relay.to, data });
    assert.strictEqual(receipt.status, "success");
    assert.strictEqual(await chain.usdcOf(market.buyer.walletAddress), before - PRICE_UNITS);

    const funded = await fund(market, checkout, receipt.transactionHash);
    assert.deepEqual([funded.status, funded.body.data?.status], [200, "funded"], funded.text);
    const { escrowId } = checkout.paymentInstructions;
    const address = chain.deployment.escrow;
    const args = [escrowId] as const;
    const onChain = await chain.client.readContract({ address, abi: escrowAbi, functionName: "getEscrow", args });
    assert.deepEqual([onChain.state, onChain.buyer], [FUNDED, market.buyer.walletAddress]);
  });

  it("[D13] can also be encoded from abi and args, and has the contract's nonce", async () => {
    const { gasless, signature } = await signed();
    const { relay, typedData } = gasless;
    const { terms, validAfter, validBefore } = relay.args;
    const data = encodeRelay(relay, [terms, validAfter, validBefore, signature]);
    assert.strictEqual(data, relay.dataTemplate.replace("{signature}", signature.slice(2)));
    const address = chain.deployment.escrow;
    const nonce = await chain.client.readContract({
      address,
      abi: escrowAbi,
      functionName: "authorizationNonce" as const,
      args: [terms as never],
    });
    assert.strictEqual(typedData.message.nonce, nonce);
    assert.strictEqual(await recoverTypedDataAddress({ ...typedData, signature }), market.buyer.walletAddress);
  });

  it("[D13] includes the checkout's terms, the token's domain and the quote's end", async () => {
    const { paymentInstructions: terms } = await checkOut(market);
    assert.ok(terms.gasless !== null);
    const { typedData, relay } = terms.gasless;
    const { chainId, tokenAddress: verifyingContract, escrowContract, amount } = terms;
    assert.deepEqual(typedData.domain, { name: "USDC", version: "2", chainId, verifyingContract });
    const validBefore = String(Date.parse(terms.quoteExpiresAt) / 1_000);
    const { nonce, ...message } = typedData.message;
    assert.match(nonce, /^0x[0-9a-f]{64}$/);
    const from = market.buyer.walletAddress;
    assert.deepEqual(message, { from, to: escrowContract, value: amount, validAfter: "0", validBefore });
    assert.deepEqual([relay.to, relay.chainId, relay.value], [escrowContract, chainId, "0"]);
  });

  it("[D13] is refused by the chain when the relayer changes a term", async () => {
    const { checkout, gasless, signature } = await signed();
    const { terms, validAfter, validBefore } = gasless.relay.args;
    const data = encodeRelay(gasless.relay, [
      { ...terms, seller: relayer.address },
      validAfter,
      validBefore,
      signature,
    ]);
    assert.strictEqual((await chain.sendReverting(relayer, { to: gasless.relay.to, data })).status, "reverted");
    const { status } = await readTransaction(api, market.buyer, checkout.transactionId);
    assert.strictEqual(status, "pending_funding");
  });

  it("[D13] includes the mainnet token's domain there, and isn't offered for a token without EIP-3009", async () => {
    const mainnet = await openChain("base");
    const { account, walletAddress } = market.buyer;
    const ETHER = 10n ** 18n;
    await mainnet.endow(account, { usdc: 100n * ONE_USDC, weth: ETHER });
    await chain.raiseScore(walletAddress, 10);
    const serviceId = await listService(api, market.seller, { network: "base", price: 1 });
    const own = { ...market, chain: mainnet, serviceId };
    const { gasless } = (await checkOut(own)).paymentInstructions;
    assert.deepEqual([gasless?.typedData.domain.name, gasless?.typedData.domain.chainId], ["USD Coin", 8_453]);
    const inWeth = await checkOut(own, { paymentMethod: "weth" });
    const { gasless: none, gaslessReason } = inWeth.paymentInstructions;
    assert.deepEqual([none, gaslessReason], [null, "token_without_authorization"]);
  });

  it("[D13] isn't offered to a wallet whose signatures the token doesn't take, and says so", async () => {
    const address = market.buyer.walletAddress;
    // Returns nothing whatever is called, as a wallet that delegates to a contract without ERC-1271 may.
    await chain.client.setCode({ address, bytecode: "0x00" });
    const { gasless, gaslessReason } = (await checkOut(market)).paymentInstructions;
    assert.deepEqual([gasless, gaslessReason], [null, "wallet_has_code"]);
    await chain.client.setCode({ address, bytecode: "0x" });
    assert.isNull((await checkOut(market)).paymentInstructions.gaslessReason);
  });
});
