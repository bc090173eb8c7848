import { setTimeout as sleep } from "node:timers/promises";

import { encodeFunctionData, erc20Abi, keccak256, maxUint256, toHex } from "viem";
import type { Hex } from "viem";

import { createEscrowCall, moveCall, submitDeliveryCall } from "../../../api/chain/calldata.ts";
import { createIndexer } from "../../../api/indexer/indexer-client.ts";
import type { Indexer } from "../../../api/indexer/indexer-client.ts";
import { ApiError } from "../../../sdk/src/index.ts";
import type { Deal, Registration, TransactionStatus } from "../../../sdk/src/index.ts";
import { readStack } from "../../fixtures/api.ts";
import { openFullStack, openShop } from "../../fixtures/full-stack.ts";
import type { FullStack, Shop } from "../../fixtures/full-stack.ts";
import type { PreparedCall } from "../../fixtures/stack.ts";
import { now } from "../events/bench-process.ts";
import { promptWallets } from "../prompt-wallet.ts";
import { BlockWatch } from "./block-watch.ts";
import type { MinedAt } from "./block-watch.ts";
import { EventWatch } from "./event-watch.ts";
import type { DealEvent } from "./event-watch.ts";
import { NETWORK } from "./indexing-stack.ts";
import type { IndexingStack } from "./indexing-stack.ts";

/** The database of API and worker on the local stack. */
export const DATABASE = "marketplace";
const HEAD_POLL_MS = 10;
/** The subgraph is polled for one deal in so many: the polls cost graph-node what all the moves cost it. */
const POLLED_DEALS = 4;
const RETRY_MS = 100;
/** Pause between a move's block and the deal's next move. */
const BETWEEN_MOVES_MS = 1_000;
const GAS = 1_000_000n;

/** The moves of a deal. */
export const MOVES = ["createEscrow", "submitDelivery", "accept"] as const;
export type DealMove = (typeof MOVES)[number];
const STATUS: Readonly<Record<DealMove, TransactionStatus>> = {
  createEscrow: "funded",
  submitDelivery: "delivered",
  accept: "released",
};
const EVENT: Readonly<Record<DealMove, DealEvent>> = {
  createEscrow: "escrow.funded",
  submitDelivery: "delivery.submitted",
  accept: "escrow.released",
};

/** A move that was seen everywhere. Times are milliseconds from the moment at which its block existed at the node. */
export interface SeenMove {
  move: DealMove;
  minedAt: number;
  /** Until the subgraph answered a poll with that block, or a later one; undefined if it wasn't polled for this deal. */
  toSubgraphMs: number | undefined;
  /** Until the API's answer with the new status had arrived. */
  toStateMs: number;
  /** Until the event was committed to MongoDB. */
  toEventMs: number;
}

/** Deals between registered agents, whose moves are watched at the node, in the subgraph, in the API and in MongoDB. */
export class LiveDeals {
  readonly blocks: BlockWatch;
  readonly #stack: FullStack;
  readonly #shops: readonly Shop[];
  readonly #events: EventWatch;
  readonly #indexer: Indexer;
  /** Resolves with the time at which the subgraph had the block; one poll serves all that wait. */
  readonly #heads: { block: number; resolve: (at: number) => void }[] = [];
  #isPolling = false;

  private constructor(
    stack: FullStack,
    shops: readonly Shop[],
    watches: { blocks: BlockWatch; events: EventWatch; indexer: Indexer },
  ) {
    this.#stack = stack;
    this.#shops = shops;
    this.blocks = watches.blocks;
    this.#events = watches.events;
    this.#indexer = watches.indexer;
  }

  /** @param pairs how many buyers and sellers share the deals, so that no key runs into its limits */
  static async open({ subgraphUrl }: IndexingStack, pairs: number): Promise<LiveDeals> {
    const stack = await openFullStack();
    const { chain } = stack;
    const { mongodbUri } = await readStack();
    const newWallet = promptWallets(stack);
    const shops: Shop[] = [];
    for (let pair = 0; pair < pairs; pair += 1) {
      const shop = await openShop({ ...stack, newWallet });
      const usdc = chain.deployment.tokens.find(({ symbol }) => symbol === "USDC");
      if (usdc === undefined) throw new Error("the chain lists no USDC");
      const approve = { abi: erc20Abi, functionName: "approve", args: [chain.deployment.escrow, maxUint256] } as const;
      const request = { to: usdc.address, data: encodeFunctionData(approve) };
      await chain.client.waitForTransactionReceipt({ hash: await shop.buyerWallet.sendTransaction(request) });
      // A signature for each transaction would cost the bench's own core.
      for (const address of [shop.buyer.walletAddress, shop.seller.walletAddress])
        await chain.client.impersonateAccount({ address });
      shops.push(shop);
    }
    return new LiveDeals(stack, shops, {
      blocks: await BlockWatch.open(chain),
      events: await EventWatch.open(mongodbUri, DATABASE),
      indexer: createIndexer({ network: NETWORK, url: subgraphUrl }),
    });
  }

  /**
   * Settles a deal.
   * @returns its moves once all have been seen everywhere, and how long the API then takes to show the deal again
   */
  async settle(index: number): Promise<{ moves: SeenMove[]; readAgainMs: number }> {
    const { buyer, seller, serviceId } = this.#shops[index % this.#shops.length] as Shop;
    const deal = await buyer.agent.checkout({ serviceId });
    const seen: Promise<SeenMove>[] = [];
    for (const move of MOVES) {
      const hash = await this.#send(move === "submitDelivery" ? seller : buyer, callOf(move, deal));
      const mined = await this.blocks.mined(hash);
      seen.push(this.#see(deal, move, mined, index % POLLED_DEALS === 0));
      await sleep(BETWEEN_MOVES_MS);
    }
    const moves = await Promise.all(seen);
    const startedAt = now();
    await deal.read();
    return { moves, readAgainMs: now() - startedAt };
  }

  async close(): Promise<void> {
    this.blocks.close();
    await Promise.all([this.#events.close(), this.#indexer.close()]);
  }

  async #see(deal: Deal, move: DealMove, { block, at }: MinedAt, isPolled: boolean): Promise<SeenMove> {
    const [indexedAt, shownAt, recordedAt] = await Promise.all([
      isPolled ? this.#indexed(block) : undefined,
      this.#shown(deal, STATUS[move], block),
      this.#events.recorded(deal.transactionId, EVENT[move]),
    ]);
    const toSubgraphMs = indexedAt === undefined ? undefined : indexedAt - at;
    return { move, minedAt: at, toSubgraphMs, toStateMs: shownAt - at, toEventMs: recordedAt - at };
  }

  /** The API waits for the block itself, as for every client that names the block of its receipt. */
  async #shown(deal: Deal, status: TransactionStatus, block: number): Promise<number> {
    for (;;) {
      try {
        const read = await deal.read({ minBlock: BigInt(block) });
        const at = now();
        // The deal may have gone on meanwhile, while graph-node catches up.
        const isThere = read.status === status || hasPassed(read.status, status);
        if (!isThere) throw new Error(`${deal.transactionId} is ${read.status} in block ${block}, not ${status}`);
        return at;
      } catch (error) {
        // graph-node is further behind than the API waits.
        if (!(error instanceof ApiError) || error.status !== 503) throw error;
        await sleep(RETRY_MS);
      }
    }
  }

  #indexed(block: number): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#heads.push({ block, resolve });
    if (!this.#isPolling) void this.#poll();
    return promise;
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    while (this.#heads.length > 0) {
      const head = await this.#indexer.head().catch(() => undefined);
      const at = now();
      for (const waiting of this.#heads.splice(0)) {
        if (head !== undefined && waiting.block <= head.number) waiting.resolve(at);
        else this.#heads.push(waiting);
      }
      await sleep(HEAD_POLL_MS);
    }
    this.#isPolling = false;
  }

  async #send({ walletAddress }: Registration, { to, data }: PreparedCall): Promise<Hex> {
    const params = [{ from: walletAddress, to, data, gas: toHex(GAS) }];
    return await this.#stack.chain.client.request<never>({ method: "eth_sendTransaction", params } as never);
  }
}

const ORDER: readonly TransactionStatus[] = ["funded", "delivered", "released"];
const hasPassed = (found: TransactionStatus, status: TransactionStatus): boolean =>
  ORDER.indexOf(found) > ORDER.indexOf(status);

function callOf(move: DealMove, { terms }: Deal): PreparedCall {
  const { escrowId, chainId, escrowContract } = terms;
  const target = { chainId, escrowContract };
  if (move === "submitDelivery") return submitDeliveryCall(target, escrowId, keccak256(escrowId));
  if (move === "accept") return moveCall(target, "accept", escrowId);
  return createEscrowCall(target, {
    ...terms,
    deadline: Number(terms.deadline),
    disputeWindow: Number(terms.disputeWindow),
    abandonmentGrace: Number(terms.abandonmentGrace),
  });
}
