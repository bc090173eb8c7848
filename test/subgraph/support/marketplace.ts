import {
  HDNodeWallet,
  JsonRpcProvider,
  NonceManager,
  Wallet,
  hexlify,
  keccak256,
  parseEther,
  randomBytes,
} from "ethers";
import type { ContractTransactionResponse, Signer, TransactionReceipt } from "ethers";

import { mintUsdc } from "../../../deploy/run/local-tokens.ts";
import { LOCAL_ROLE_INDEX } from "../../../deploy/system/local-roles.ts";
import { LOCAL_MNEMONIC } from "../../../scripts/local/chain.ts";
import type { StackFacts } from "../../../scripts/local/facts.ts";
import type { NetworkName } from "../../../scripts/local/networks.ts";
import { IUsdc__factory } from "../../../typechain-types/factories/contracts/mocks/IUsdc__factory.ts";
import { IEscrow__factory } from "../../../typechain-types/factories/contracts/interfaces/IEscrow__factory.ts";
import { IResolver__factory } from "../../../typechain-types/factories/contracts/interfaces/IResolver__factory.ts";
import type { IEscrow } from "../../../typechain-types/contracts/interfaces/IEscrow.ts";
import type { IResolver } from "../../../typechain-types/contracts/interfaces/IResolver.ts";

/** Anvil's accounts that hold the roles of a local deployment, and one with funds. */
const ROLE_ACCOUNTS = { ...LOCAL_ROLE_INDEX, funder: 5 } as const;
const READY_TIMEOUT_MS = 60_000;
const DAY_SECONDS = 86_400;

/** A wallet with ETH and USDC. */
export interface Party {
  readonly address: string;
  readonly wallet: Wallet;
}

/** Terms of an escrow that a test sets. */
export interface EscrowWishes {
  readonly amount?: bigint;
  readonly token?: string;
  readonly disputeWindow?: bigint;
  readonly abandonmentGrace?: bigint;
}

/** The terms of an escrow that was created, and the receipt. */
export interface CreatedEscrow {
  readonly id: string;
  readonly amount: bigint;
  readonly deadline: bigint;
  readonly disputeWindow: bigint;
  readonly abandonmentGrace: bigint;
  readonly criteriaHash: string;
  readonly receipt: TransactionReceipt;
}

/** Real contracts on one network of a stack, and the subgraph that indexes them. */
export class Marketplace {
  readonly provider: JsonRpcProvider;
  readonly usdc: string;
  readonly tokens: Readonly<Record<string, string>>;
  readonly #escrow: string;
  readonly #resolver: string;
  readonly #subgraphUrl: string;
  readonly #funder: NonceManager;

  constructor(facts: StackFacts, network: NetworkName) {
    const of = facts.networks[network];
    if (of?.escrow === undefined || of.resolver === undefined || of.subgraphUrl === undefined) {
      throw new Error(`the stack has no subgraph of ${network}`);
    }
    this.provider = new JsonRpcProvider(of.rpcUrl, of.chainId, { staticNetwork: true, cacheTimeout: -1 });
    this.provider.pollingInterval = 30;
    this.tokens = of.tokens;
    this.usdc = of.tokens["USDC"] ?? "";
    this.#escrow = of.escrow;
    this.#resolver = of.resolver;
    this.#subgraphUrl = of.subgraphUrl;
    this.#funder = new NonceManager(this.role("funder"));
  }

  /** Closes the connection. */
  close(): void {
    this.provider.destroy();
  }

  /** The wallet that holds a role of the contracts. */
  role(role: keyof typeof ROLE_ACCOUNTS): HDNodeWallet {
    const path = `m/44'/60'/0'/0/${ROLE_ACCOUNTS[role]}`;
    return HDNodeWallet.fromPhrase(LOCAL_MNEMONIC, undefined, path).connect(this.provider);
  }

  /** A new wallet with 1 ETH and 1,000 USDC that lets the escrow contract draw them. */
  async newParty(): Promise<Party> {
    const wallet = new Wallet(hexlify(randomBytes(32)), this.provider);
    const usdc = IUsdc__factory.connect(this.usdc, this.#funder);
    const sent = [
      await this.#funder.sendTransaction({ to: wallet.address, value: parseEther("1") }),
      await mintUsdc(usdc, this.#funder, wallet.address, 1_000_000_000n),
    ];
    await Promise.all(sent.map((transaction) => transaction.wait()));
    await confirmed(usdc.connect(wallet).approve(this.#escrow, 1_000_000_000n));
    return { address: wallet.address, wallet };
  }

  /** The escrow contract as this wallet uses it. */
  escrowAs(signer: Party | Signer): IEscrow {
    return IEscrow__factory.connect(this.#escrow, "wallet" in signer ? signer.wallet : signer);
  }

  /** The resolver contract as this wallet uses it. */
  resolverAs(signer: Party | Signer): IResolver {
    return IResolver__factory.connect(this.#resolver, "wallet" in signer ? signer.wallet : signer);
  }

  /** Funds an escrow of $5 due in a day. */
  async createEscrow(buyer: Party, seller: Party, wishes: EscrowWishes = {}): Promise<CreatedEscrow> {
    const terms = {
      id: hexlify(randomBytes(32)),
      amount: wishes.amount ?? 5_000_000n,
      deadline: BigInt((await this.now()) + DAY_SECONDS),
      disputeWindow: wishes.disputeWindow ?? 300n,
      abandonmentGrace: wishes.abandonmentGrace ?? 3_600n,
      criteriaHash: keccak256(randomBytes(32)),
    };
    const receipt = await confirmed(
      this.escrowAs(buyer).createEscrow(
        terms.id,
        seller.address,
        terms.amount,
        wishes.token ?? this.usdc,
        terms.deadline,
        terms.disputeWindow,
        terms.abandonmentGrace,
        terms.criteriaHash,
      ),
    );
    return { ...terms, receipt };
  }

  /** An escrow with its delivery. */
  async createDelivered(buyer: Party, seller: Party, wishes: EscrowWishes = {}): Promise<CreatedEscrow> {
    const escrow = await this.createEscrow(buyer, seller, wishes);
    await confirmed(this.escrowAs(seller).submitDelivery(escrow.id, keccak256(escrow.id)));
    return escrow;
  }

  /** An escrow whose buyer has opened a dispute. */
  async createDisputed(buyer: Party, seller: Party): Promise<CreatedEscrow> {
    const escrow = await this.createDelivered(buyer, seller);
    await confirmed(this.escrowAs(buyer).openDispute(escrow.id));
    return escrow;
  }

  /** An escrow that was delivered and accepted. */
  async createReleased(buyer: Party, seller: Party, wishes: EscrowWishes = {}): Promise<TransactionReceipt> {
    const escrow = await this.createDelivered(buyer, seller, wishes);
    return await confirmed(this.escrowAs(buyer).accept(escrow.id));
  }

  /** Time of the latest block, unix seconds. */
  async now(): Promise<number> {
    const block = await this.provider.getBlock("latest");
    if (block === null) throw new Error("the chain has no block");
    return block.timestamp;
  }

  /** Moves the chain's clock and makes a block there. */
  async passTime(seconds: number): Promise<void> {
    await this.provider.send("evm_increaseTime", [seconds]);
    await this.provider.send("evm_mine", []);
  }

  /** Removes a transaction's block and all above it, mines a longer branch, and returns its height. */
  async takeBack(receipt: TransactionReceipt): Promise<number> {
    // The chain mines a block each second, and one between the two calls would keep the transaction in place.
    while ((await this.provider.getTransactionReceipt(receipt.hash)) !== null) {
      const head = await this.provider.getBlockNumber();
      await this.provider.send("anvil_reorg", [head - receipt.blockNumber + 1, []]);
    }
    // graph-node serves the old branch until the new one is longer.
    await this.provider.send("anvil_mine", ["0x5"]);
    return await this.provider.getBlockNumber();
  }

  /** Queries the subgraph once it has indexed the block. */
  async query<T>(text: string, variables: Record<string, unknown>, block: number): Promise<T> {
    const giveUpAt = Date.now() + READY_TIMEOUT_MS;
    for (;;) {
      try {
        const { _meta } = await this.#ask<{ _meta: { block: { number: number } } }>("{ _meta { block { number } } }");
        if (_meta.block.number >= block) return await this.#ask<T>(text, variables);
        if (Date.now() > giveUpAt) throw new Error(`block ${block} was not indexed, only ${_meta.block.number}`);
      } catch (error) {
        // graph-node's error when a reorganisation interrupts a query; the next attempt reads the new branch.
        const reorganised = error instanceof Error && error.message.includes("reorganized while executing");
        if (!reorganised || Date.now() > giveUpAt) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async #ask<T>(query: string, variables: Record<string, unknown> = {}): Promise<T> {
    const response = await fetch(this.#subgraphUrl, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query, variables }),
    });
    const answer = (await response.json()) as { data?: T; errors?: unknown };
    if (answer.data === undefined || answer.errors !== undefined) throw new Error(JSON.stringify(answer.errors));
    return answer.data;
  }
}

/** The receipt of a transaction that succeeded. */
export async function confirmed(sent: Promise<ContractTransactionResponse>): Promise<TransactionReceipt> {
  const receipt = await (await sent).wait();
  if (receipt === null) throw new Error("the transaction has no receipt");
  return receipt;
}
