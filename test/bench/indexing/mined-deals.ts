import { encodeFunctionData, erc20Abi, keccak256, maxUint256, parseEther, toHex } from "viem";
import type { Address, Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import { createEscrowCall, moveCall, submitDeliveryCall } from "../../../api/chain/calldata.ts";
import type { EscrowTerms } from "../../../api/chain/calldata.ts";
import { bytes32 } from "../../fixtures/follower.ts";
import type { PreparedCall, TestChain } from "../../fixtures/stack.ts";
import { deployBatchWallet } from "../follower/batch-wallet.ts";
import type { BatchWallet } from "../follower/batch-wallet.ts";

const BLOCK_GAS = 10_000_000_000n;
/** A deposit that the caps of new wallets allow. */
const AMOUNT = 1_000_000n;
/** What a transaction's record has of it. */
export const AMOUNTS = { amount: "1000000", platformFee: "20000", lockedAmount: "980000" } as const;
const DELIVERY_SECONDS = 604_800;
const USDC_EACH = 1_000_000n * AMOUNT;

/** Blocks whose logs are read at once: an answer may have ten megabytes. */
const LOG_BLOCKS = 5n;

/** A deal to be mined, between a buyer and a seller that are batch wallets. */
export interface MinedDeal extends EscrowTerms {
  buyer: Address;
}

/** How far a deal goes. */
export type Ending = "funded" | "delivered" | "released" | "disputed";
/** A buyer may accept and dispute for so long: the chain's clock may run fast. */
const DISPUTE_WINDOW_SECONDS = 86_400;

/** Mines deals of many batch wallets into blocks of a given size, as fast as the chain can. */
export class MinedDeals {
  readonly #chain: TestChain;
  readonly #buyers: readonly BatchWallet[];
  readonly #sellers: readonly BatchWallet[];
  readonly #token: Address;

  private constructor(chain: TestChain, buyers: readonly BatchWallet[], sellers: readonly BatchWallet[]) {
    this.#chain = chain;
    this.#buyers = buyers;
    this.#sellers = sellers;
    this.#token = usdcOf(chain);
  }

  /** Deploys the wallets of so many buyers and as many sellers. From then on the chain mines only when told to. */
  static async open(chain: TestChain, pairs: number): Promise<MinedDeals> {
    const { client, deployment } = chain;
    const account = privateKeyToAccount(generatePrivateKey());
    await chain.endow(account, { usdc: BigInt(pairs) * USDC_EACH });
    await client.setBalance({ address: account.address, value: parseEther("100000000") });
    const [buyers, sellers]: [BatchWallet[], BatchWallet[]] = [[], []];
    const usdc = usdcOf(chain);
    for (let pair = 0; pair < pairs; pair += 1) {
      const buyer = await deployBatchWallet(chain, account);
      const transfer = { abi: erc20Abi, functionName: "transfer", args: [buyer.address, USDC_EACH] } as const;
      await chain.send(account, { to: usdc, data: encodeFunctionData(transfer) });
      const approve = { abi: erc20Abi, functionName: "approve", args: [deployment.escrow, maxUint256] } as const;
      await buyer.submit(buyer.prepare([{ to: usdc, data: encodeFunctionData(approve) }]));
      buyers.push(buyer);
      sellers.push(await deployBatchWallet(chain, account));
    }
    await client.request({ method: "evm_setAutomine", params: [false] } as never);
    await client.request({ method: "evm_setIntervalMining", params: [0] } as never);
    await client.request({ method: "evm_setBlockGasLimit", params: [toHex(BLOCK_GAS)] } as never);
    await client.mine({ blocks: 1 });
    return new MinedDeals(chain, buyers, sellers);
  }

  /** Terms of deals that the pairs share evenly. */
  async plan(count: number): Promise<MinedDeal[]> {
    const { timestamp } = await this.#chain.client.getBlock();
    return Array.from({ length: count }, (_, index) => ({
      escrowId: bytes32(),
      criteriaHash: bytes32(),
      token: this.#token,
      amount: AMOUNT,
      buyer: this.#of(this.#buyers, index).address,
      seller: this.#of(this.#sellers, index).address,
      deadline: Number(timestamp) + DELIVERY_SECONDS,
      disputeWindow: DISPUTE_WINDOW_SECONDS,
      abandonmentGrace: 172_800,
    }));
  }

  /**
   * Mines planned deals. Each block funds new ones, delivers those of the block before and releases those of the one
   * before that, as far as they go.
   * @param secondsPerBlock time between two blocks by the chain's clock, whatever it is on the wall
   */
  async mine(
    deals: readonly MinedDeal[],
    { perBlock, secondsPerBlock, ending = () => "released" }: MiningPlan,
  ): Promise<void> {
    const { client, deployment } = this.#chain;
    const target = { chainId: client.chain.id, escrowContract: deployment.escrow };
    const blocks = Math.ceil(deals.length / perBlock) + 2;
    let { timestamp } = await client.getBlock();
    for (let block = 0; block < blocks; block += 1) {
      const calls = new Map<BatchWallet, PreparedCall[]>();
      const add = (wallet: BatchWallet, call: PreparedCall) => calls.set(wallet, [...(calls.get(wallet) ?? []), call]);
      for (let age = 0; age < 3; age += 1) {
        const start = Math.max(0, (block - age) * perBlock);
        for (let index = start; index < (block - age + 1) * perBlock && index < deals.length; index += 1) {
          const deal = deals[index] as MinedDeal;
          const [buyer, seller] = [this.#of(this.#buyers, index), this.#of(this.#sellers, index)];
          const { escrowId } = deal;
          if (age === 0) add(buyer, createEscrowCall(target, deal));
          if (age === 1 && ending(index) !== "funded")
            add(seller, submitDeliveryCall(target, escrowId, keccak256(escrowId)));
          if (age === 2 && ending(index) === "released") add(buyer, moveCall(target, "accept", escrowId));
          if (age === 2 && ending(index) === "disputed") add(buyer, moveCall(target, "openDispute", escrowId));
        }
      }
      for (const [wallet, own] of calls) await wallet.submit(wallet.prepare(own));
      timestamp += BigInt(secondsPerBlock);
      await client.setNextBlockTimestamp({ timestamp });
      await client.mine({ blocks: 1 });
    }
  }

  #of(wallets: readonly BatchWallet[], index: number): BatchWallet {
    return wallets[index % wallets.length] as BatchWallet;
  }
}

/** The blocks into which deals are mined. */
export interface MiningPlan {
  /** Deals that a block funds. */
  perBlock: number;
  secondsPerBlock: number;
  /** How far the deal of an index goes; by default each is released. */
  ending?: (index: number) => Ending;
}

function usdcOf({ deployment }: TestChain): Address {
  const usdc = deployment.tokens.find(({ symbol }) => symbol === "USDC");
  if (usdc === undefined) throw new Error("the chain lists no USDC");
  return usdc.address;
}

/** The logs of the three contracts in some blocks: what a subgraph of them handles. */
export async function countEvents(chain: TestChain, fromBlock: bigint, toBlock: bigint): Promise<number> {
  const { escrow, score, resolver } = chain.deployment;
  const addresses: Hex[] = [escrow, score, resolver];
  let events = 0;
  for (let from = fromBlock; from <= toBlock; from += LOG_BLOCKS) {
    const to = from + LOG_BLOCKS - 1n < toBlock ? from + LOG_BLOCKS - 1n : toBlock;
    events += (await chain.client.getLogs({ address: addresses, fromBlock: from, toBlock: to })).length;
  }
  return events;
}
