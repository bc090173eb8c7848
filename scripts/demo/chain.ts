import {
  type Address,
  type Hex,
  type PublicClient,
  type WalletClient,
  createPublicClient,
  createTestClient,
  createWalletClient,
  erc20Abi,
  http,
  parseEther,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { type Chain, base, baseSepolia } from "viem/chains";

import type { NetworkFacts, StackFacts } from "./stack-facts.ts";

/** A call as the API prepares it: send it as it is. */
export interface PreparedCall {
  to: Address;
  data: Hex;
  value: string;
  description?: string;
}

/** One local chain: reads, and the clock that only a local chain lets anybody move. */
export class LocalChain {
  readonly facts: NetworkFacts;
  readonly client: PublicClient;
  readonly #chain: Chain;

  constructor(facts: NetworkFacts) {
    this.facts = facts;
    this.#chain = facts.chainId === base.id ? base : baseSepolia;
    this.client = createPublicClient({ chain: this.#chain, transport: http(facts.rpcUrl), pollingInterval: 50 });
  }

  /** A wallet of this chain for a private key. */
  wallet(privateKey: Hex): Wallet {
    const client = createWalletClient({
      chain: this.#chain,
      transport: http(this.facts.rpcUrl),
      account: privateKeyToAccount(privateKey),
    });
    return new Wallet(client, this, privateKey);
  }

  /** Unix seconds of the latest block. */
  async now(): Promise<bigint> {
    return (await this.client.getBlock({ blockTag: "latest" })).timestamp;
  }

  /** Moves the clock to `timestamp` (unix seconds) and mines a block there. */
  async moveClockTo(timestamp: bigint): Promise<void> {
    const test = createTestClient({ chain: this.#chain, mode: "anvil", transport: http(this.facts.rpcUrl) });
    await test.setNextBlockTimestamp({ timestamp });
    await test.mine({ blocks: 1 });
  }

  /** Token units that `owner` holds. */
  async tokenBalance(token: Address, owner: Address): Promise<bigint> {
    return this.client.readContract({ address: token, abi: erc20Abi, functionName: "balanceOf", args: [owner] });
  }
}

/** A wallet on one local chain. */
export class Wallet {
  readonly address: Address;
  readonly privateKey: Hex;
  readonly chain: LocalChain;
  readonly #client: WalletClient;

  constructor(client: WalletClient, chain: LocalChain, privateKey: Hex) {
    if (client.account === undefined) throw new Error("a wallet needs an account");
    this.#client = client;
    this.address = client.account.address;
    this.privateKey = privateKey;
    this.chain = chain;
  }

  /** Sends a prepared call and waits for its receipt; throws when it reverted. */
  async send(call: PreparedCall): Promise<{ hash: Hex; blockNumber: bigint; gasUsed: bigint }> {
    const { account, chain } = this.#client;
    if (account === undefined) throw new Error("a wallet needs an account");
    const hash = await this.#client.sendTransaction({
      account,
      chain,
      to: call.to,
      data: call.data,
      value: BigInt(call.value),
    });
    const receipt = await this.chain.client.waitForTransactionReceipt({ hash });
    if (receipt.status !== "success") throw new Error(`transaction ${hash} reverted`);
    return { hash, blockNumber: receipt.blockNumber, gasUsed: receipt.gasUsed };
  }

  /** EIP-191 signature of a text. */
  async signMessage(message: string): Promise<Hex> {
    return privateKeyToAccount(this.privateKey).signMessage({ message });
  }

  /** Sends ETH and, when asked for, token units to another wallet. */
  async fund(to: Address, ether: string, token?: { address: Address; units: bigint }): Promise<void> {
    const { account, chain } = this.#client;
    if (account === undefined) throw new Error("a wallet needs an account");
    const hash = await this.#client.sendTransaction({ account, chain, to, value: parseEther(ether) });
    await this.chain.client.waitForTransactionReceipt({ hash });
    if (token === undefined) return;
    const transfer = await this.#client.writeContract({
      account,
      chain,
      address: token.address,
      abi: erc20Abi,
      functionName: "transfer",
      args: [to, token.units],
    });
    await this.chain.client.waitForTransactionReceipt({ hash: transfer });
  }
}

/** A new wallet with ETH for gas and USDC on a network, paid by one of the stack's funded accounts. */
export async function freshWallet(
  stack: StackFacts,
  network: keyof StackFacts["networks"],
  usdcUnits: bigint,
): Promise<Wallet> {
  const chain = new LocalChain(stack.networks[network]);
  const [source] = stack.accounts;
  if (source === undefined) throw new Error("the stack lists no funded account");
  const wallet = chain.wallet(generatePrivateKey());
  const usdc = stack.networks[network].tokens["USDC"];
  if (usdc === undefined) throw new Error(`the stack lists no USDC on ${network}`);
  const token = usdcUnits > 0n ? { address: usdc, units: usdcUnits } : undefined;
  await chain.wallet(source.privateKey).fund(wallet.address, "1", token);
  return wallet;
}
