import { createTestClient, createWalletClient, erc20Abi, http, parseAbi, parseEther, publicActions } from "viem";
import type { Address, Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { base, baseSepolia } from "viem/chains";

import type { Wallet } from "../../sdk/src/index.ts";
import type { NetworkFacts } from "../demo/stack-facts.ts";

const usdcAbi = parseAbi(["function masterMinter() view returns (address)"]);
const minterAbi = parseAbi(["function mint(address recipient, uint256 amount)"]);

const POLLING_MS = 50;
const ETHER = parseEther("10");
const LEAST_ETHER = parseEther("1");
const USDC = 1_000_000_000n;
const LEAST_USDC = 100_000_000n;

/** The money of the residents on one local chain. */
export class Bank {
  readonly #facts: NetworkFacts;
  readonly #client;

  constructor(facts: NetworkFacts) {
    this.#facts = facts;
    const chain = facts.chainId === base.id ? base : baseSepolia;
    const transport = http(facts.rpcUrl);
    this.#client = createTestClient({ chain, mode: "anvil", transport, pollingInterval: POLLING_MS }).extend(
      publicActions,
    );
  }

  /** The wallet of a key on this chain. */
  walletOf(key: Hex): Wallet {
    const { chain } = this.#client;
    const account = privateKeyToAccount(key);
    return createWalletClient({ account, chain, transport: http(this.#facts.rpcUrl), pollingInterval: POLLING_MS });
  }

  /** Fills up a wallet that has less than 1 ether or 100 USDC. The local chain makes both from nothing. */
  async fillUp(wallet: Wallet): Promise<void> {
    const { address } = wallet.account;
    if ((await this.#client.getBalance({ address })) < LEAST_ETHER) {
      await this.#client.setBalance({ address, value: ETHER });
    }
    const usdc = this.#usdc();
    const args = [address] as const;
    if (
      (await this.#client.readContract({ address: usdc, abi: erc20Abi, functionName: "balanceOf", args })) >= LEAST_USDC
    )
      return;
    const minter = await this.#client.readContract({ address: usdc, abi: usdcAbi, functionName: "masterMinter" });
    const { account, chain } = wallet;
    const mint = { address: minter, abi: minterAbi, functionName: "mint", args: [address, USDC] } as const;
    await this.#client.waitForTransactionReceipt({ hash: await wallet.writeContract({ account, chain, ...mint }) });
  }

  #usdc(): Address {
    const usdc = this.#facts.tokens["USDC"];
    if (usdc === undefined) throw new Error("The stack lists no USDC.");
    return usdc;
  }
}
