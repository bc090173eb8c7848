// Calls that cost more gas in their block than when it was estimated, because another transaction came first.
import { assert } from "chai";
import { createWalletClient, custom, encodeFunctionData, erc20Abi, http, parseAbi, parseSignature } from "viem";
import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import { sendCall } from "../../../sdk/src/index.ts";
import { write } from "../../../sdk/src/wallet.ts";
import type { ContractWrite, Wallet } from "../../../sdk/src/wallet.ts";
import { gasKey, signTransfer } from "../../fixtures/payments.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

const UNITS = 1_000_000n;
const abi = parseAbi([
  "function transferWithAuthorization(address, address, uint256, uint256, uint256, bytes32, uint8, bytes32, bytes32)",
]);
const SENDERS = {
  sendCall: (wallet: Wallet, { address, ...call }: ContractWrite) =>
    sendCall(wallet, { to: address, data: encodeFunctionData(call) }),
  write,
};

describe("the gas of a call", () => {
  let chain: TestChain;
  let usdc: Hex;

  before(async () => {
    chain = await openChain("base-sepolia");
    usdc = chain.deployment.tokens.find(({ symbol }) => symbol === "USDC")?.address ?? "0x";
  });

  /** A wallet that does something else between its estimate and its transaction. */
  function walletAfter(key: Hex, work: () => Promise<unknown>): Wallet {
    const { request } = http(chain.rpcUrl)({ chain: chain.client.chain });
    const transport = custom({
      async request(call: { method: string }) {
        if (call.method === "eth_sendRawTransaction") await work();
        return request(call as never);
      },
    });
    return createWalletClient({ account: privateKeyToAccount(key), chain: chain.client.chain, transport });
  }

  for (const [name, send] of Object.entries(SENDERS)) {
    it(`is enough if the payee's balance is emptied after the estimate: ${name}`, async () => {
      const [payer, payee] = [privateKeyToAccount(generatePrivateKey()), privateKeyToAccount(generatePrivateKey())];
      await Promise.all([payer, payee].map((account) => chain.endow(account, { usdc: UNITS })));
      const { authorization, signature } = await signTransfer({ chain, usdc, payTo: payee.address }, payer);
      const { from, to, value, validAfter, validBefore, nonce } = authorization;
      const { r, s, yParity } = parseSignature(signature);
      const args = [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, 27 + yParity, r, s];
      const functionName = "transfer";
      const emptied = encodeFunctionData({ abi: erc20Abi, functionName, args: [payer.address, UNITS] });
      // A slot that has no value costs more to write.
      const wallet = walletAfter(await gasKey(chain), () => chain.send(payee, { to: usdc, data: emptied }));
      const call: ContractWrite = { address: usdc, abi, functionName: "transferWithAuthorization", args };
      const estimate = await chain.client.estimateContractGas({ ...call, account: wallet.account });
      const { status, gasUsed } = await send(wallet, call);
      assert.strictEqual(status, "success");
      assert.isTrue(gasUsed > estimate, `${gasUsed} after an estimate of ${estimate}`);
    });
  }
});
