import { setTimeout as sleep } from "node:timers/promises";

import type { Hash, Hex } from "viem";

import type { SignedTransaction } from "../../chain/signer.ts";
import { isDuplicateKey } from "../../db/connection.ts";
import type { Lease } from "../../jobs/lease.ts";
import { pauseAfter } from "../../lib/retry.ts";
import type { LastTransactionModel, LastTransactionRecord } from "./model.ts";

/** What the sending needs of a node. */
export interface SendingNode {
  /** Transactions of the key that the node has, with those that wait for a block. */
  transactionCount(): Promise<number>;
  broadcast(raw: Hex): Promise<Hash>;
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
  /** Whether an error of `broadcast` says that another transaction has the nonce. */
  isNonceTaken: (error: unknown) => boolean;
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
/** Times that a transaction is signed, if others take its nonce. */
const ATTEMPTS = 5;
/** Times that a node is asked whether it has the last transaction, with the pause in between, in milliseconds. */
const LOOKS = 5;
const LOOK_PAUSE_MS = 200;

/**
 * Sends the transactions of one key, which any number of processes may share. One process sends at a time, and the database
 * has the last transaction that was signed. It is stored before it is sent, by a write that names the one before it. So two
 * processes never use a nonce twice, even if one was paused for longer than its lease. A process that was killed before it
 * sent the last transaction leaves no gap: the next one sends that first.
 */
export function createSendingQueue({ id, model, lease, node, isNonceTaken }: SendingQueueDeps) {
  const waiting: (() => Promise<void>)[] = [];
  let isSending = false;

  /** The next nonce after the last transaction, once the node has that one. */
  async function nextNonce(last: LastTransactionRecord | null): Promise<number> {
    for (let looks = 1; ; looks += 1) {
      const count = await node.transactionCount();
      // After so many looks the node doesn't lack the last transaction but an earlier one, so that nonce is free.
      if (last === null || count > last.nonce || looks === LOOKS) return count;
      await node.broadcast(last.raw).catch(() => undefined);
      if (looks > 1) await sleep(LOOK_PAUSE_MS);
    }
  }

  /** False if another process has stored a transaction since. */
  async function store(last: LastTransactionRecord | null, nonce: number, raw: Hex): Promise<boolean> {
    try {
      if (last !== null) return (await model.updateOne({ _id: id, raw: last.raw }, { nonce, raw })).modifiedCount === 1;
      await model.create({ _id: id, nonce, raw });
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  async function send(sign: SignFor): Promise<Hash> {
    for (let attempt = 1; ; attempt += 1) {
      const last = await model.findById(id).lean<LastTransactionRecord | null>();
      const nonce = await nextNonce(last);
      const { hash, raw } = await sign(nonce);
      if (!(await store(last, nonce, raw))) {
        await holdLease();
        continue;
      }
      try {
        return await node.broadcast(raw);
      } catch (error) {
        // The node's first answer was lost, or another process has sent it while this one was paused.
        if (await node.knows(hash)) return hash;
        if (attempt === ATTEMPTS || !isNonceTaken(error)) throw error;
      }
    }
  }

  async function holdLease(): Promise<void> {
    for (let looks = 0; !(await lease.acquire()); looks += 1) await sleep(pauseAfter(looks, LEASE_PAUSE));
  }

  /** Sends what waits, a few transactions a turn: another process must get its turn, too. */
  async function sendWaiting(): Promise<void> {
    isSending = true;
    while (waiting.length > 0) {
      for (const task of waiting.splice(0, TURN)) await task();
      // If this fails, the lease ends by itself.
      await lease.release().catch(() => undefined);
      if (waiting.length > 0) await sleep(BETWEEN_TURNS_MS);
    }
    isSending = false;
  }

  return {
    /** Sends one transaction. @throws the node's error, or one of the database */
    send(sign: SignFor): Promise<Hash> {
      return new Promise((resolve, reject) => {
        waiting.push(() =>
          holdLease()
            .then(() => send(sign))
            .then(resolve, reject),
        );
        if (!isSending) void sendWaiting();
      });
    },
  };
}
