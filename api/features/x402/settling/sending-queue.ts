import { setTimeout as sleep } from "node:timers/promises";

import type { Hash, Hex } from "viem";

import type { RefusalMeaning } from "../../../chain/sending/problems.ts";
import type { SignedTransaction } from "../../../chain/signer.ts";
import { isDuplicateKey } from "../../../db/connection.ts";
import type { Lease } from "../../../jobs/lease.ts";
import { pauseAfter } from "../../../lib/retry.ts";
import { untilAborted } from "../../../lib/stopping.ts";
import type { LastTransactionModel, LastTransactionRecord } from "../model.ts";

/** What the sending needs of a node. */
export interface SendingNode {
  /** Transactions of the key that the node has, with those that wait for a block. */
  transactionCount(): Promise<number>;
  /** Sends once: a failed request isn't repeated. */
  broadcast(raw: Hex): Promise<unknown>;
  /** What an error of `broadcast` means. */
  meaningOf(error: unknown): RefusalMeaning;
  /** Whether the node has a transaction, in a block or waiting for one. */
  knows(txHash: Hash): Promise<boolean>;
}

/** Dependencies of the queue. */
export interface SendingQueueDeps {
  /** `network:address` of the key. */
  id: string;
  model: LastTransactionModel;
  lease: Lease;
  node: SendingNode;
}

/** Signs a transaction for a nonce, and notes its hash where the payment is. Nothing has been sent then. */
export type SignFor = (nonce: number) => Promise<SignedTransaction>;

/** How long a process that was killed keeps the others from sending, in milliseconds. */
export const SENDING_LEASE_MS = 5_000;
/** First and longest pause between two looks whether another process still sends, in milliseconds. */
const LEASE_PAUSE = { minMs: 10, maxMs: 50 };
/** Transactions that a process sends before it gives others the turn, and how long it then waits, in milliseconds. */
const TURN = 10;
const BETWEEN_TURNS_MS = 100;
/** How long a turn lasts at most, in milliseconds. With what ends it, the key is free after two seconds. */
const TURN_MS = 1_800;
/** How much of its turn a process may have used when it begins with another transaction, in milliseconds. */
const BEGIN_WITHIN_MS = TURN_MS / 2;
/** Times that a transaction is signed, if others take its nonce. */
const ROUNDS = 5;
/** Requests to send anything for one payment: its own transactions, and the one before them. */
const SENDS = 5;
/** Times that a node is asked whether it has the last transaction, with the pause in between, in milliseconds. */
const LOOKS = 5;
const LOOK_PAUSE_MS = 200;

/** A turn is over, and the transaction may have been sent. */
export class TurnOverError extends Error {
  override readonly name = "TurnOverError";

  constructor() {
    super(`The node didn't take the transaction within ${TURN_MS} ms`);
  }
}

/** What waits for its turn. */
interface Task {
  sign: SignFor;
  /** Aborts when nobody waits for the result any more. */
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
 * Sends the transactions of one key, which any number of processes may share. One process sends at a time, and the database
 * has the last transaction that was signed. It is stored before it is sent, by a write that names the one before it. So two
 * processes never use a nonce twice, even if one was paused for longer than its lease. A process that was killed before it
 * sent the last transaction leaves no gap: the next one sends that first. The same holds for a turn that ends early.
 */
export function createSendingQueue({ id, model, lease, node }: SendingQueueDeps) {
  const waiting: Task[] = [];
  let isSending = false;

  /** False if another process has stored a transaction since. */
  async function store(last: LastTransactionRecord | null, nonce: number, raw: Hex): Promise<boolean> {
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

  /** Sends one transaction. What has been aborted goes on to its next step at most. */
  async function send(sign: SignFor, signal: AbortSignal): Promise<Hash> {
    let sends = 0;
    /** The transaction that the node has refused, because another one has its nonce. */
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
        // After so many looks the node doesn't lack the last transaction but an earlier one, so that nonce is free.
        if (last === null || count > last.nonce || looks === LOOKS) return count;
        if (last.raw === refused?.raw) {
          if (looks > 1) return count;
        } else if (looks === 1 && sends + 1 < SENDS) await broadcast(last.raw).catch(() => undefined);
        await sleep(LOOK_PAUSE_MS, undefined, { signal });
      }
    }

    for (let round = 1; round <= ROUNDS && sends < SENDS; round += 1) {
      const last = await model.findById(id).lean<LastTransactionRecord | null>();
      const nonce = await nextNonce(last);
      signal.throwIfAborted();
      const { hash, raw } = await sign(nonce);
      signal.throwIfAborted();
      if (!(await store(last, nonce, raw))) {
        await holdLease(signal);
        continue;
      }
      try {
        await broadcast(raw);
        return hash;
      } catch (error) {
        // The node's first answer was lost, or another process has sent it while this one was paused.
        const meaning = node.meaningOf(error);
        if (meaning === "known" || (await node.knows(hash))) return hash;
        if (meaning !== "nonce_taken") throw error;
        refused = { raw, error };
      }
    }
    throw new Error("Other transactions keep taking the nonces of this key", { cause: refused?.error });
  }

  async function holdLease(signal: AbortSignal): Promise<void> {
    for (let looks = 0; !(await untilAborted(lease.acquire(), signal)); looks += 1) {
      await sleep(pauseAfter(looks, LEASE_PAUSE), undefined, { signal });
    }
  }

  /** The first that somebody still waits for. */
  function nextTask(): Task | undefined {
    let task = waiting.shift();
    while (task?.signal.aborted === true) task = waiting.shift();
    return task;
  }

  /** Sends a few of the transactions that wait, as long as the turn lasts. It begins with the lease. */
  async function takeTurn(): Promise<void> {
    let turn: Turn | undefined;
    for (let begun = 0; begun < TURN; begun += 1) {
      if (turn !== undefined && performance.now() - turn.startedAt > BEGIN_WITHIN_MS) break;
      const task = nextTask();
      if (task === undefined) break;
      try {
        await holdLease(task.signal);
        turn ??= newTurn();
        const signal = AbortSignal.any([task.signal, turn.signal]);
        task.resolve(await untilAborted(send(task.sign, signal), signal));
      } catch (error) {
        task.reject(error);
      }
    }
    // If this fails, the lease ends by itself.
    await lease.release().catch(() => undefined);
  }

  function newTurn(): Turn {
    const over = new AbortController();
    setTimeout(() => {
      over.abort(new TurnOverError());
    }, TURN_MS).unref();
    return { startedAt: performance.now(), signal: over.signal };
  }

  /** Sends what waits, turn by turn: another process must get its turn, too. */
  async function sendWaiting(): Promise<void> {
    isSending = true;
    while (waiting.length > 0) {
      await takeTurn();
      if (waiting.length > 0) await sleep(BETWEEN_TURNS_MS);
    }
    isSending = false;
  }

  return {
    /**
     * Sends one transaction, with a few requests at most.
     * @param signal ends the wait. What is signed by then may be sent by the next transaction
     * @throws TurnOverError if the node doesn't answer, the node's error, one of the database, or the signal's reason
     */
    send(sign: SignFor, signal: AbortSignal): Promise<Hash> {
      const { promise, resolve, reject } = Promise.withResolvers<Hash>();
      waiting.push({ sign, signal, resolve, reject });
      if (!isSending) void sendWaiting();
      return untilAborted(promise, signal);
    },
  };
}
