import { setTimeout as sleep } from "node:timers/promises";

import { encodeFunctionData, erc20Abi, keccak256, maxUint256, parseEther } from "viem";
import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import { createEscrowCall, moveCall, submitDeliveryCall } from "../../../api/chain/calldata.ts";
import type { TransactionRecord } from "../../../api/features/transactions/model.ts";
import { createIndexer } from "../../../api/indexer/indexer-client.ts";
import { readStack } from "../../fixtures/api.ts";
import type { FollowerBench } from "../../fixtures/follower.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { PreparedCall, TestChain } from "../../fixtures/stack.ts";
import { deployBatchWallet } from "./batch-wallet.ts";
import type { BatchWallet } from "./batch-wallet.ts";
import { MOVES_PER_DEAL, storeCheckouts } from "./deals.ts";
import { percentile } from "./floor.ts";

const NETWORK = "base-sepolia";
/** Seconds between two blocks, as on Base. */
const BLOCK_SECONDS = 2;
const BLOCK_GAS = 10_000_000_000n;
/** A deposit that the caps of new wallets allow. */
const AMOUNT = 1_000_000n;
const FEE = 20_000n;
const DELIVERY_SECONDS = 604_800;
const QUOTE_SECONDS = 86_400;
/** How long after the last block the subgraph or the follower may take before the bench gives up. */
const PATIENCE_MS = 180_000;
const HEAD_POLL_MS = 50;

/** Lags of blocks in milliseconds. */
const summary = (lags: readonly number[]) => ({ p50Ms: percentile(lags, 0.5), maxMs: percentile(lags, 1) });

/** What one block holds. */
interface BlockOfDeals {
  ofBuyer: Hex[];
  ofSeller: Hex[];
}

/**
 * The lag of the follower behind blocks of anvil that graph-node indexes, at rising numbers of deals a second: three moves
 * each, a block every two seconds. The bench mines the blocks, so the moment of each is known.
 */
export class RealChainBench {
  readonly #bench: FollowerBench;
  readonly #chain: TestChain;
  readonly #buyer: BatchWallet;
  readonly #seller: BatchWallet;
  readonly #subgraphUrl: string;
  readonly #token: TransactionRecord["token"];

  private constructor(
    bench: FollowerBench,
    chain: TestChain,
    wallets: [BatchWallet, BatchWallet],
    subgraphUrl: string,
  ) {
    this.#bench = bench;
    this.#chain = chain;
    [this.#buyer, this.#seller] = wallets;
    this.#subgraphUrl = subgraphUrl;
    this.#token = usdcOf(chain);
  }

  static async open(bench: FollowerBench): Promise<RealChainBench> {
    const [chain, stack] = await Promise.all([openChain(NETWORK), readStack()]);
    const { client, deployment } = chain;
    const usdc = usdcOf(chain).address;
    const accounts = [0, 1].map(() => privateKeyToAccount(generatePrivateKey()));
    const wallets: BatchWallet[] = [];
    for (const account of accounts) {
      await chain.endow(account, { usdc: 1_000_000n * AMOUNT });
      await client.setBalance({ address: account.address, value: parseEther("1000000") });
      wallets.push(await deployBatchWallet(chain, account));
    }
    const [buyer, seller] = wallets;
    const [purse] = accounts;
    if (buyer === undefined || seller === undefined || purse === undefined)
      throw new Error("unreachable: two accounts");
    const transfer = { abi: erc20Abi, functionName: "transfer", args: [buyer.address, 1_000_000n * AMOUNT] } as const;
    await chain.send(purse, { to: usdc, data: encodeFunctionData(transfer) });
    const approve = { abi: erc20Abi, functionName: "approve", args: [deployment.escrow, maxUint256] } as const;
    await buyer.submit(buyer.prepare([{ to: usdc, data: encodeFunctionData(approve) }]));
    await client.request({ method: "evm_setAutomine", params: [false] } as never);
    await client.request({ method: "evm_setIntervalMining", params: [0] } as never);
    await client.request({ method: "evm_setBlockGasLimit", params: [`0x${BLOCK_GAS.toString(16)}`] } as never);
    await client.mine({ blocks: 1 });
    return new RealChainBench(bench, chain, [buyer, seller], stack.networks[NETWORK].subgraphUrl);
  }

  /** Lags at so many deals a second, kept up for some seconds. */
  async measure(dealsPerSecond: number, seconds: number) {
    const { client } = this.#chain;
    const perBlock = dealsPerSecond * BLOCK_SECONDS;
    const blocks = Math.ceil(seconds / BLOCK_SECONDS);
    const { timestamp } = await client.getBlock();
    const records = await storeCheckouts(this.#bench, perBlock * blocks, {
      buyerAddress: this.#buyer.address,
      sellerAddress: this.#seller.address,
      token: this.#token,
      amount: String(AMOUNT),
      platformFee: String(FEE),
      lockedAmount: String(AMOUNT - FEE),
      escrowContract: this.#chain.deployment.escrow,
      deadline: Number(timestamp) + DELIVERY_SECONDS,
      quoteExpiresAt: Number(timestamp) + QUOTE_SECONDS,
    });
    const prepared = this.#prepare(records, perBlock, blocks + MOVES_PER_DEAL - 1);

    const minedAt = new Map<number, number>();
    const follower = this.#follow(minedAt);
    const indexed = this.#watchIndexer(minedAt);
    const miningMs: number[] = [];
    const startedAt = performance.now();
    for (const [index, block] of prepared.entries()) {
      const dueAt = startedAt + index * BLOCK_SECONDS * 1_000;
      await this.#buyer.submit(block.ofBuyer);
      await this.#seller.submit(block.ofSeller);
      // A chain that can't keep up mines its blocks later; the rate that it reached is in the result.
      await sleep(Math.max(0, dueAt - performance.now()));
      const miningAt = performance.now();
      await client.mine({ blocks: 1 });
      miningMs.push(performance.now() - miningAt);
      minedAt.set(Number(await client.getBlockNumber({ cacheTime: 0 })), performance.now());
    }
    const lastSeconds = (performance.now() - startedAt) / 1_000;
    const last = Math.max(...minedAt.keys());
    const [indexedLags, followedLags] = await Promise.all([indexed.until(last), follower.until(last)]);
    const ids = records.map(({ _id }) => _id);
    const released = await this.#bench.transactions.countDocuments({ _id: { $in: ids }, status: "released" });
    if (released !== records.length) throw new Error(`${released} of ${records.length} deals were released`);
    return {
      deals: records.length,
      /** Below the rate asked for when submitting and mining take longer than a block. */
      reachedDealsPerSecond: (perBlock * prepared.length) / (lastSeconds + BLOCK_SECONDS),
      mining: summary(miningMs),
      /** From the block to the subgraph that shows it. */
      indexedLag: summary(indexedLags),
      /** From the block to the records, events and dispatches in MongoDB: the lag that counts. */
      followedLag: summary(followedLags),
    };
  }

  /** Each block funds new deals, delivers those of the block before and releases those of the one before that. */
  #prepare(records: readonly TransactionRecord[], perBlock: number, blocks: number): BlockOfDeals[] {
    const target = { chainId: this.#chain.client.chain.id, escrowContract: this.#chain.deployment.escrow };
    const of = (block: number) => (block < 0 ? [] : records.slice(block * perBlock, (block + 1) * perBlock));
    const fund = (record: TransactionRecord): PreparedCall =>
      createEscrowCall(target, { ...record, seller: this.#seller.address, token: this.#token.address, amount: AMOUNT });
    return Array.from({ length: blocks }, (_, block) => ({
      ofBuyer: this.#buyer.prepare([
        ...of(block).map(fund),
        ...of(block - 2).map(({ escrowId }) => moveCall(target, "accept", escrowId)),
      ]),
      ofSeller: this.#seller.prepare(
        of(block - 1).map(({ escrowId }) => submitDeliveryCall(target, escrowId, keccak256(escrowId))),
      ),
    }));
  }

  #newIndexer() {
    return createIndexer({ network: NETWORK, url: this.#subgraphUrl });
  }

  #follow(minedAt: ReadonlyMap<number, number>) {
    const lags = new LagsOf(minedAt);
    const indexer = this.#newIndexer();
    const ending = new AbortController();
    const follower = this.#bench.follower({
      indexer,
      chainHeight: async () => Number(await this.#chain.client.getBlockNumber({ cacheTime: 0 })),
      pollMs: 100,
      onStep: ({ head, hasMore }) => {
        if (!hasMore) lags.reached(head.number);
        return Promise.resolve();
      },
    });
    const running = follower.run(ending.signal);
    return {
      async until(block: number) {
        await lags.until(block, "the follower");
        ending.abort();
        await running;
        await indexer.close();
        return lags.lags;
      },
    };
  }

  #watchIndexer(minedAt: ReadonlyMap<number, number>) {
    const lags = new LagsOf(minedAt);
    const indexer = this.#newIndexer();
    const ending = new AbortController();
    const watch = async () => {
      while (!ending.signal.aborted) {
        lags.reached((await indexer.head()).number);
        await sleep(HEAD_POLL_MS);
      }
    };
    const watching = watch();
    return {
      async until(block: number) {
        await lags.until(block, "the subgraph");
        ending.abort();
        await watching;
        await indexer.close();
        return lags.lags;
      },
    };
  }
}

/** How long after their mining blocks were reached. */
class LagsOf {
  readonly lags: number[] = [];
  readonly #minedAt: ReadonlyMap<number, number>;
  readonly #done = new Set<number>();

  constructor(minedAt: ReadonlyMap<number, number>) {
    this.#minedAt = minedAt;
  }

  reached(head: number): void {
    for (const [block, at] of this.#minedAt) {
      if (block > head || this.#done.has(block)) continue;
      this.#done.add(block);
      this.lags.push(performance.now() - at);
    }
  }

  async until(block: number, who: string): Promise<void> {
    const giveUpAt = performance.now() + PATIENCE_MS;
    while (!this.#done.has(block)) {
      if (performance.now() > giveUpAt) throw new Error(`${who} has not reached block ${block} in ${PATIENCE_MS} ms`);
      await sleep(HEAD_POLL_MS);
    }
  }
}

function usdcOf(chain: TestChain): TransactionRecord["token"] {
  const usdc = chain.deployment.tokens.find(({ symbol }) => symbol === "USDC");
  if (usdc === undefined) throw new Error("the chain lists no USDC");
  const { symbol, address, decimals } = usdc;
  return { symbol, address, decimals };
}
