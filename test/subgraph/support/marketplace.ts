import {
  createTestClient,
  createWalletClient,
  defineChain,
  getContract,
  http,
  keccak256,
  maxUint256,
  parseAbi,
  parseEther,
  publicActions,
} from "viem";
import type { Abi, Account, Address, Hash, Hex, TransactionReceipt } from "viem";
import { generatePrivateKey, mnemonicToAccount, privateKeyToAccount } from "viem/accounts";
import type { PrivateKeyAccount } from "viem/accounts";

import { escrowAbi, resolverAbi } from "../../../api/chain/abis.ts";
import { LOCAL_ROLE_INDEX } from "../../../deploy/system/local-roles.ts";
import type { LocalRole } from "../../../deploy/system/local-roles.ts";
import { LOCAL_MNEMONIC } from "../../../scripts/local/chain.ts";
import type { StackFacts } from "../../../scripts/local/facts.ts";
import type { NetworkName } from "../../../scripts/local/networks.ts";

const READY_TIMEOUT_MS = 60_000;
const POLLING_MS = 30;
const GAS_MARGIN = 2n;
const DAY_SECONDS = 86_400;
const PARTY_USDC = 1_000_000_000n;

const tokenAbi = parseAbi([
  "function masterMinter() view returns (address)",
  "function approve(address spender, uint256 amount) returns (bool)",
  "function deposit() payable",
]);
const faucetAbi = parseAbi(["function mint(address recipient, uint256 amount)"]);

/** Terms of an escrow that a test sets. */
export interface EscrowWishes {
  readonly amount?: bigint;
  readonly token?: Address;
  readonly disputeWindow?: bigint;
  readonly abandonmentGrace?: bigint;
}

/** The terms of an escrow that was created, and the receipt. */
export interface CreatedEscrow {
  readonly id: Hex;
  readonly amount: bigint;
  readonly deadline: bigint;
  readonly disputeWindow: bigint;
  readonly abandonmentGrace: bigint;
  readonly criteriaHash: Hex;
  readonly receipt: TransactionReceipt;
}

function createClient(network: NetworkName, chainId: number, rpcUrl: string) {
  const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
  const chain = defineChain({ id: chainId, name: network, nativeCurrency, rpcUrls: { default: { http: [rpcUrl] } } });
  const settings = { mode: "anvil", chain, transport: http(rpcUrl), pollingInterval: POLLING_MS } as const;
  return createTestClient({ ...settings, cacheTime: 0 }).extend(publicActions);
}

/** A number as four bytes, lowest first, as AssemblyScript's `concatI32` appends it. */
export function littleEndian(value: number): Hex {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return `0x${bytes.toString("hex")}`;
}

/** 32 random bytes. */
const randomHash = (): Hex => keccak256(generatePrivateKey());

/** Real contracts on one network of a stack, and the subgraph that indexes them. */
export class Marketplace {
  readonly client: ReturnType<typeof createClient>;
  readonly usdc: Address;
  readonly tokens: Readonly<Record<string, string>>;
  readonly escrow: Address;
  readonly score: Address;
  readonly resolver: Address;
  readonly #subgraphUrl: string;

  constructor(facts: StackFacts, network: NetworkName) {
    const of = facts.networks[network];
    if (
      of?.escrow === undefined ||
      of.score === undefined ||
      of.resolver === undefined ||
      of.subgraphUrl === undefined
    ) {
      throw new Error(`the stack has no subgraph of ${network}`);
    }
    this.client = createClient(network, of.chainId, of.rpcUrl);
    this.tokens = of.tokens;
    this.usdc = of.tokens["USDC"] as Address;
    this.escrow = of.escrow as Address;
    this.score = of.score as Address;
    this.resolver = of.resolver as Address;
    this.#subgraphUrl = of.subgraphUrl;
  }

  /** The account that holds a role of the contracts. */
  role(role: LocalRole): Account {
    return mnemonicToAccount(LOCAL_MNEMONIC, { addressIndex: LOCAL_ROLE_INDEX[role] });
  }

  /** A new wallet with 1 ETH and 1,000 USDC that lets the escrow contract draw them. */
  async newParty(): Promise<PrivateKeyAccount> {
    const account = privateKeyToAccount(generatePrivateKey());
    await this.client.setBalance({ address: account.address, value: parseEther("1") });
    const usdc = this.tokenAs(account, this.usdc);
    const client = { public: this.client, wallet: this.#walletOf(account) };
    // The master minter of a local chain is a faucet that mints for everyone.
    const faucet = getContract({ address: await usdc.read.masterMinter(), abi: faucetAbi, client });
    await this.confirmed(faucet.write.mint([account.address, PARTY_USDC]));
    await this.allow(account);
    return account;
  }

  /** Lets the escrow contract draw a wallet's units of a token, by default USDC. */
  async allow(account: Account, token = this.usdc): Promise<void> {
    await this.confirmed(this.tokenAs(account, token).write.approve([this.escrow, maxUint256]));
  }

  /** The escrow contract as this account uses it. */
  escrowAs(account: Account) {
    return this.contractAs(account, this.escrow, escrowAbi);
  }

  /** The resolver contract as this account uses it. */
  resolverAs(account: Account) {
    return this.contractAs(account, this.resolver, resolverAbi);
  }

  /** A token as this account uses it. */
  tokenAs(account: Account, address: Address) {
    return this.contractAs(account, address, tokenAbi);
  }

  /** Any contract as this account uses it. */
  contractAs<const A extends Abi>(account: Account, address: Address, abi: A) {
    const client = { public: this.client, wallet: this.#walletOf(account) };
    return getContract({ address, abi, client });
  }

  /** Deploys a contract without arguments, and returns its address. */
  async deploy(account: Account, abi: Abi, bytecode: Hex): Promise<Address> {
    const receipt = await this.confirmed(this.#walletOf(account).deployContract({ abi, bytecode }));
    if (receipt.contractAddress == null) throw new Error("nothing was deployed");
    return receipt.contractAddress;
  }

  /** The receipt of a transaction that succeeded. */
  async confirmed(sent: Promise<Hash>): Promise<TransactionReceipt> {
    const receipt = await this.client.waitForTransactionReceipt({ hash: await sent });
    if (receipt.status !== "success") throw new Error(`the transaction ${receipt.transactionHash} reverted`);
    return receipt;
  }

  /**
   * A wallet whose calls get more gas than estimated: another transaction of the same moment may change what a call costs,
   * most of all where a token calls back and stores the answer.
   */
  #walletOf(account: Account) {
    const { chain, transport } = this.client;
    const wallet = createWalletClient({ account, chain, transport: http(transport.url), pollingInterval: POLLING_MS });
    const writeContract: typeof wallet.writeContract = async (request) => {
      const gas = await this.client.estimateContractGas({ ...request, account } as never);
      return await wallet.writeContract({ ...request, gas: gas * GAS_MARGIN } as never);
    };
    return { ...wallet, writeContract };
  }

  /** Funds an escrow of $5 due in a day. */
  async createEscrow(buyer: Account, seller: Account, wishes: EscrowWishes = {}): Promise<CreatedEscrow> {
    const terms = {
      id: randomHash(),
      amount: wishes.amount ?? 5_000_000n,
      deadline: BigInt((await this.timeOf()) + DAY_SECONDS),
      disputeWindow: wishes.disputeWindow ?? 300n,
      abandonmentGrace: wishes.abandonmentGrace ?? 3_600n,
      criteriaHash: randomHash(),
    };
    const receipt = await this.confirmed(
      this.escrowAs(buyer).write.createEscrow([
        terms.id,
        seller.address,
        terms.amount,
        wishes.token ?? this.usdc,
        terms.deadline,
        terms.disputeWindow,
        terms.abandonmentGrace,
        terms.criteriaHash,
      ]),
    );
    return { ...terms, receipt };
  }

  /** An escrow with its delivery. */
  async createDelivered(buyer: Account, seller: Account, wishes: EscrowWishes = {}): Promise<CreatedEscrow> {
    const escrow = await this.createEscrow(buyer, seller, wishes);
    await this.confirmed(this.escrowAs(seller).write.submitDelivery([escrow.id, keccak256(escrow.id)]));
    return escrow;
  }

  /** An escrow whose buyer has opened a dispute. */
  async createDisputed(buyer: Account, seller: Account): Promise<CreatedEscrow> {
    const escrow = await this.createDelivered(buyer, seller);
    await this.confirmed(this.escrowAs(buyer).write.openDispute([escrow.id]));
    return escrow;
  }

  /** An escrow that was delivered and accepted. */
  async createReleased(buyer: Account, seller: Account, wishes: EscrowWishes = {}): Promise<TransactionReceipt> {
    const escrow = await this.createDelivered(buyer, seller, wishes);
    return await this.confirmed(this.escrowAs(buyer).write.accept([escrow.id]));
  }

  /** Time of a block, by default of the latest one, in unix seconds. */
  async timeOf(blockNumber?: bigint): Promise<number> {
    return Number((await this.client.getBlock(blockNumber === undefined ? {} : { blockNumber })).timestamp);
  }

  /** Moves the chain's clock and makes a block there. */
  async passTime(seconds: number): Promise<void> {
    await this.client.increaseTime({ seconds });
    await this.client.mine({ blocks: 1 });
  }

  /** Removes a transaction's block and all above it, mines a longer branch, and returns its height. */
  async takeBack({ transactionHash: hash, blockNumber }: TransactionReceipt): Promise<bigint> {
    const isMined = () =>
      this.client.getTransactionReceipt({ hash }).then(
        () => true,
        () => false,
      );
    // The chain mines a block each second, and one between the two calls would keep the transaction in place.
    while (await isMined()) {
      const depth = Number((await this.client.getBlockNumber()) - blockNumber) + 1;
      await this.client.request({ method: "anvil_reorg" as never, params: [depth, []] as never });
    }
    // graph-node serves the old branch until the new one is longer.
    await this.client.mine({ blocks: 5 });
    return this.client.getBlockNumber();
  }

  /** Queries the subgraph once it has indexed the block. */
  async query<T>(text: string, variables: Record<string, unknown>, block: bigint): Promise<T> {
    const giveUpAt = Date.now() + READY_TIMEOUT_MS;
    for (;;) {
      try {
        const { _meta } = await this.#ask<{ _meta: { block: { number: number } } }>("{ _meta { block { number } } }");
        if (BigInt(_meta.block.number) >= block) return await this.#ask<T>(text, variables);
        if (Date.now() > giveUpAt) throw new Error(`block ${block} was not indexed, only ${_meta.block.number}`);
      } catch (error) {
        // A reorganisation interrupted the query, or the subgraph was deployed just now; the next attempt succeeds.
        const passing = /reorganized while executing|has not started syncing yet/;
        if (!(error instanceof Error && passing.test(error.message)) || Date.now() > giveUpAt) throw error;
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
