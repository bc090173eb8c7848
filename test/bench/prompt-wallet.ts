import { createWalletClient, http } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import type { Wallet } from "../../sdk/src/index.ts";
import { ONE_USDC } from "../fixtures/deals.ts";
import type { FullStack } from "../fixtures/full-stack.ts";

const RECEIPT_POLL_MS = 2;
const BUYER_USDC = 10_000n * ONE_USDC;

/** Makes wallets that see a receipt within milliseconds of its block. Those with any USDC get enough for many deals. */
export function promptWallets({ chain }: FullStack): FullStack["newWallet"] {
  return async (usdc = 0n): Promise<Wallet> => {
    const account = privateKeyToAccount(generatePrivateKey());
    await chain.endow(account, { usdc: usdc === 0n ? usdc : BUYER_USDC });
    const transport = http(chain.rpcUrl);
    return createWalletClient({ account, chain: chain.client.chain, transport, pollingInterval: RECEIPT_POLL_MS });
  };
}
