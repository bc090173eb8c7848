import { createPublicClient, createTestClient, createWalletClient, erc20Abi, http, parseEther } from "viem";
import type { Chain, Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { base, baseSepolia } from "viem/chains";

import type { Wallet } from "../../sdk/src/index.ts";
import type { NetworkFacts, StackFacts } from "./stack-facts.ts";

const POLLING_MS = 50;

function chainOf({ chainId }: NetworkFacts): Chain {
  return chainId === base.id ? base : baseSepolia;
}

/** A wallet on a local chain for a private key. */
function walletOf(facts: NetworkFacts, privateKey: Hex): Wallet {
  const account = privateKeyToAccount(privateKey);
  return createWalletClient({
    account,
    chain: chainOf(facts),
    transport: http(facts.rpcUrl),
    pollingInterval: POLLING_MS,
  });
}

/** A new wallet with ETH for gas and USDC units, paid by one of the stack's funded accounts. */
export async function freshWallet(
  stack: StackFacts,
  network: keyof StackFacts["networks"],
  usdc: bigint,
): Promise<Wallet> {
  const facts = stack.networks[network];
  const [source] = stack.accounts;
  if (source === undefined) throw new Error("the stack lists no funded account");
  const token = facts.tokens["USDC"];
  if (token === undefined) throw new Error(`the stack lists no USDC on ${network}`);
  const wallet = walletOf(facts, generatePrivateKey());
  const payer = walletOf(facts, source.privateKey);
  const reader = createPublicClient({
    chain: chainOf(facts),
    transport: http(facts.rpcUrl),
    pollingInterval: POLLING_MS,
  });
  const { account, chain } = payer;
  const to = wallet.account.address;
  const gas = await payer.sendTransaction({ account, chain, to, value: parseEther("1") });
  await reader.waitForTransactionReceipt({ hash: gas });
  if (usdc > 0n) {
    const transfer = { address: token, abi: erc20Abi, functionName: "transfer", args: [to, usdc] } as const;
    await reader.waitForTransactionReceipt({ hash: await payer.writeContract({ account, chain, ...transfer }) });
  }
  return wallet;
}

/** Moves a local chain's clock to `timestamp` (unix seconds) and mines a block there. */
export async function moveClockTo(facts: NetworkFacts, timestamp: bigint): Promise<void> {
  const test = createTestClient({ chain: chainOf(facts), mode: "anvil", transport: http(facts.rpcUrl) });
  await test.setNextBlockTimestamp({ timestamp });
  await test.mine({ blocks: 1 });
}

/** Unix seconds of a local chain's latest block. */
export async function chainNow(facts: NetworkFacts): Promise<bigint> {
  const reader = createPublicClient({ chain: chainOf(facts), transport: http(facts.rpcUrl) });
  return (await reader.getBlock({ blockTag: "latest" })).timestamp;
}
