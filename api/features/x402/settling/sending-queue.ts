import { setTimeout as sleep } from "node:timers/promises";

import type { Hash, Hex } from "viem";

import type { RefusalMeaning } from "../../../chain/sending/problems.ts";
import type { SignedTransaction } from "../../../chain/signer.ts";
import { isDuplicateKey } from "../../../db/connection.ts";
import type { Lease } from "../../../jobs/lease.ts";
import { pauseAfter } from "../../../lib/retry.ts";
import { untilAborted } from "../../../lib/stopping.ts";
import type { LastTransactionModel, LastTransactionRecord } from "../model.ts";

/** The node's operations that sending needs. */
export interface SendingNode {
  /** Number of the key's transactions that the node has, pending ones included. */
  transactionCount(): Promise<number>;
  /** Sends once, without retries. */
  broadcast(raw: Hex): Promise<unknown>;
  /** Classifies an error of `broadcast`. */
  meaningOf(error: unknown): RefusalMeaning;
  /** Whether the node has a transaction, mined or pending. */
  knows(txHash: Hash): Promise<boolean>;
}

/** Dependencies of the queue. */
interface SendingQueueDeps {
  /** `network:address` of the key. */
  id: string;
  model: LastTransactionModel;
  lease: Lease;
  node: SendingNode;
}

/** Signs a transaction for a nonce, and records its hash with the payment. Doesn't send it. */
export type SignFor = (nonce: number) => Promise<SignedTransaction>;

/** How long a killed process blocks the others from sending, in milliseconds. */
export const SENDING_LEASE_MS = 5_000;
/** First and longest pause between attempts to acquire the lease, in milliseconds. */
const LEASE_PAUSE = { minMs: 10, maxMs: 50 };
/** Transactions that a process sends before it yields to others, and how long it then waits, in milliseconds. */
const TURN = 10;
const BETWEEN_TURNS_MS = 100;
/** Longest turn, in milliseconds. With the release of the lease, the key is free after two seconds. */
const TURN_MS = 1_800;
/** Latest time in its turn at which a process starts another transaction, in milliseconds. */
const BEGIN_WITHIN_MS = TURN_MS / 2;
/** How often a transaction is signed, if others take its nonce. */
const ROUNDS = 5;
/** Maximum send requests for one payment: its own transactions, and the one before them. */
const SENDS = 5;
/** How often a node is asked whether it has the last transaction, and the pause in between, in milliseconds. */
const LOOKS = 5;
const LOOK_PAUSE_MS = 200;

/** Thrown when a turn is over; the transaction may have been sent. */
export class TurnOverError extends Error {
  override readonly name = "TurnOverError";

  constructor() {
    super(`The node didn't take the transaction within ${TURN_MS} ms`);
  }
}

/** A queued transaction. */
interface Task {
  sign: SignFor;
  /** Aborts when no caller waits for the result. */
  signal: AbortSignal;
  resolve: (txHash: Hash) => void;
  reject: (error: unknown) => void;
}

/** A turn of this process. */
interface Turn {
  startedAt: number;
  signal: AbortSignal;
}

/**
 * Sends the transactions of one key, which several processes may share. One process sends at a time, and the database holds
 * the last signed transaction. Each is stored before it is sent, by a write conditional on the one before it. So two
 * processes never use a nonce twice, even if one was paused for longer than its lease. A process killed before it sent the
 * last transaction leaves no gap: the next process sends that first. The same holds for a turn that ends early.
 */
export class SendingQueue {
  readonly #deps: SendingQueueDeps;
  readonly #waiting: Task[] = [];
  #isSending = false;

  constructor(deps: SendingQueueDeps) {
    this.#deps = deps;
  }

  /**
   * Sends one transaction, with at most `SENDS` requests.
   * @param signal ends the wait. A transaction signed by then may still be sent before the next one
   * @throws TurnOverError if the node doesn't answer, the node's error, one of the database, or the signal's reason
   */
  send(sign: SignFor, signal: AbortSignal): Promise<Hash> {
    const { promise, resolve, reject } = Promise.withResolvers<Hash>();
    this.#waiting.push({ sign, signal, resolve, reject });
    if (!this.#isSending) void this.#sendWaiting();
    return untilAborted(promise, signal);
  }

  /** Sends the queued transactions in turns, so that other processes get theirs. */
  async #sendWaiting(): Promise<void> {
    this.#isSending = true;
    while (this.#waiting.length > 0) {
      await this.#takeTurn();
      if (this.#waiting.length > 0) await sleep(BETWEEN_TURNS_MS);
    }
    this.#isSending = false;
  }

  /** Sends up to `TURN` queued transactions while the turn lasts. The turn begins with the lease. */
  async #takeTurn(): Promise<void> {
    let turn: Turn | undefined;
    for (let begun = 0; begun < TURN; begun += 1) {
      if (turn !== undefined && performance.now() - turn.startedAt > BEGIN_WITHIN_MS) break;
      const task = this.#nextTask();
      if (task === undefined) break;
      try {
        await this.#holdLease(task.signal);
        turn ??= newTurn();
        const signal = AbortSignal.any([task.signal, turn.signal]);
        task.resolve(await untilAborted(this.#sendOne(task.sign, signal), signal));
      } catch (error) {
        task.reject(error);
      }
    }
    // If this fails, the lease expires.
    await this.#deps.lease.release().catch(() => undefined);
  }

  /** The first queued task that hasn't been aborted. */
  #nextTask(): Task | undefined {
    let task = this.#waiting.shift();
    while (task?.signal.aborted === true) task = this.#waiting.shift();
    return task;
  }

  /** Sends one transaction. An aborted one stops before its next step. */
  async #sendOne(sign: SignFor, signal: AbortSignal): Promise<Hash> {
    const { id, model, node } = this.#deps;
    let sends = 0;
    /** The transaction that the node refused because another one has its nonce. */
    let refused: { raw: Hex; error: unknown } | undefined;

    async function broadcast(raw: Hex): Promise<void> {
      signal.throwIfAborted();
      sends += 1;
      await node.broadcast(raw);
    }

    /** The next nonce after the last transaction, once the node has that one. */
    async function nextNonce(last: LastTransactionRecord | null): Promise<number> {
      for (let looks = 1; ; looks += 1) {
        const count = await node.transactionCount();
        // If the node still reports a lower count, an earlier transaction was dropped and its nonce is free.
        if (last === null || count > last.nonce || looks === LOOKS) return count;
        if (last.raw === refused?.raw) {
          if (looks > 1) return count;
        } else if (looks === 1 && sends + 1 < SENDS) await broadcast(last.raw).catch(() => undefined);
        await sleep(LOOK_PAUSE_MS, undefined, { signal });
      }
    }

    for (let round = 1; round <= ROUNDS && sends < SENDS; round += 1) {
      const last = await model.findById(id).lean();
      const nonce = await nextNonce(last);
      signal.throwIfAborted();
      const { hash, raw } = await sign(nonce);
      signal.throwIfAborted();
      if (!(await this.#store(last, nonce, raw))) {
        await this.#holdLease(signal);
        continue;
      }
      try {
        await broadcast(raw);
        return hash;
      } catch (error) {
        // The node's first answer was lost, or another process sent it while this one was paused.
        const meaning = node.meaningOf(error);
        if (meaning === "known" || (await node.knows(hash))) return hash;
        if (meaning !== "nonce_taken") throw error;
        refused = { raw, error };
      }
    }
    throw new Error("Other transactions keep taking the nonces of this key", { cause: refused?.error });
  }

  /** Stores the signed transaction. Returns false if another process has stored one since. */
  async #store(last: LastTransactionRecord | null, nonce: number, raw: Hex): Promise<boolean> {
    const { id, model } = this.#deps;
    try {
      // Matched, not modified: with the same nonce and fees the transaction is the same.
      if (last !== null) return (await model.updateOne({ _id: id, raw: last.raw }, { nonce, raw })).matchedCount === 1;
      await model.create({ _id: id, nonce, raw });
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  async #holdLease(signal: AbortSignal): Promise<void> {
    for (let looks = 0; !(await untilAborted(this.#deps.lease.acquire(), signal)); looks += 1) {
      await sleep(pauseAfter(looks, LEASE_PAUSE), undefined, { signal });
    }
  }
}

function newTurn(): Turn {
  const over = new AbortController();
  setTimeout(() => {
    over.abort(new TurnOverError());
  }, TURN_MS).unref();
  return { startedAt: performance.now(), signal: over.signal };
}
