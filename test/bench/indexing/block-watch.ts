import { once } from "node:events";

import type { Hex } from "viem";

import type { TestChain } from "../../fixtures/stack.ts";
import { now } from "../events/bench-process.ts";

/** The block of a transaction, and when it existed at the node (milliseconds since 1970). */
export interface MinedAt {
  block: number;
  at: number;
}

/** Notes when the node has a block, by its own announcement, and which transactions are in it. */
export class BlockWatch {
  /** How long the node took to answer a read of each block, in milliseconds. */
  readonly readMs: number[] = [];
  readonly #chain: TestChain;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<Hex, (mined: MinedAt) => void>();
  /** Transactions that were mined before someone waited for them. */
  readonly #mined = new Map<Hex, MinedAt>();

  private constructor(chain: TestChain, socket: WebSocket) {
    this.#chain = chain;
    this.#socket = socket;
  }

  static async open(chain: TestChain): Promise<BlockWatch> {
    const socket = new WebSocket(chain.rpcUrl.replace(/^http/, "ws"));
    await once(socket, "open");
    const watch = new BlockWatch(chain, socket);
    socket.addEventListener("message", ({ data }) => {
      const at = now();
      const { params } = JSON.parse(String(data)) as { params?: { result: { number: Hex } } };
      if (params !== undefined) void watch.#read(BigInt(params.result.number), at);
    });
    const subscribed = once(socket, "message");
    socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["newHeads"] }));
    await subscribed;
    return watch;
  }

  /** The block of a transaction, once there is one. */
  mined(hash: Hex): Promise<MinedAt> {
    const mined = this.#mined.get(hash);
    this.#mined.delete(hash);
    if (mined !== undefined) return Promise.resolve(mined);
    return new Promise((resolve) => this.#waiting.set(hash, resolve));
  }

  close(): void {
    this.#socket.close();
  }

  async #read(blockNumber: bigint, at: number): Promise<void> {
    const startedAt = performance.now();
    const { transactions } = await this.#chain.client.getBlock({ blockNumber });
    this.readMs.push(performance.now() - startedAt);
    for (const hash of transactions) {
      const mined = { block: Number(blockNumber), at };
      const resolve = this.#waiting.get(hash);
      this.#waiting.delete(hash);
      if (resolve === undefined) this.#mined.set(hash, mined);
      else resolve(mined);
    }
  }
}
