import { isAddressEqual } from "viem";

import type { Network } from "../../config/constants.ts";
import type { Logger } from "../../lib/logger.ts";
import type { ReceiptLookup } from "../receipt-lookup.ts";
import type { SendingChain, SendingHead } from "../sending-chain.ts";
import { Broadcasts } from "./broadcasts.ts";
import { firstOffer, gasLimit, nextOffer } from "./fees.ts";
import { refusalProblem } from "./problems.ts";
import type { SendingProblem } from "./problems.ts";
import { Progress } from "./progress.ts";
import type { Flight, SendingRecord } from "./record.ts";
import { Signing } from "./signing.ts";
import type { Change, SendingStore } from "./store.ts";
import type { SendingTimings } from "./timings.ts";
import type { Work } from "./work.ts";

/** Dependencies of the sender of one network. */
interface SenderDeps<R extends SendingRecord> {
  network: Network;
  chain: SendingChain;
  work: Work<R>;
  store: SendingStore<R>;
  log: Logger;
  now: () => Date;
  timings: SendingTimings;
}

/** The problem of a transaction that no node has. */
const NOT_IN_POOL: SendingProblem = "not_in_pool";

type Mined = Extract<ReceiptLookup, { status: "mined" }>["receipt"];

/**
 * The sender of one network. It trusts only the chain: each look first finds out what became of the transactions that are
 * signed. It stores before it sends, and every write fails if another process has changed the record since it was read. So
 * a look may be cut off after any instruction, and two may run at once.
 */
export class Sender<R extends SendingRecord> {
  readonly #deps: SenderDeps<R>;
  readonly #broadcasts: Broadcasts<R>;
  readonly #progress: Progress<R>;
  readonly #signing: Signing<R>;

  constructor(deps: SenderDeps<R>) {
    this.#deps = deps;
    this.#broadcasts = new Broadcasts(deps);
    this.#progress = new Progress(deps);
    this.#signing = new Signing({ ...deps, progress: this.#progress });
  }

  /** Takes the next step of a call. */
  async look(record: R, head: SendingHead): Promise<void> {
    const { inFlight, from, nonce } = record;
    if (inFlight && from !== undefined && nonce !== undefined) await this.#watch({ ...record, from, nonce }, head);
    else await this.#begin(record, head);
  }

  /** Looks again later, after an error that isn't known. */
  async postpone(record: R): Promise<void> {
    await this.#progress.hold(record, "unexpected", "see the log");
  }

  // ----------------------------------------------------------------------------------------------
  // Nothing may be mined
  // ----------------------------------------------------------------------------------------------

  async #begin(record: R, head: SendingHead): Promise<void> {
    const { network, chain, work, store, timings } = this.#deps;
    const signer = work.signerOf(record);
    const obstacle = await work.obstacle(record, { from: signer?.address });
    if (obstacle?.kind === "done") return this.#conclude(record, head);
    if (obstacle !== undefined) return this.#progress.hold(record, obstacle.problem, obstacle.detail);
    if (signer === undefined) {
      return this.#progress.hold(record, "no_key", `this service has no key for this ${work.noun}`);
    }
    const from = signer.address;
    if ((await store.countUnmined({ network, from })) >= timings.maxInFlight) {
      await this.#progress.move(record, "queued", { dueAt: this.#inMs(timings.pollMs) });
      return;
    }
    const call = work.buildCall(record);
    const estimate = await chain.estimateGas({ from, ...call });
    if (typeof estimate !== "bigint") {
      const found = work.toObstacle(record, estimate);
      if (found.kind === "done") return this.#conclude(record, head);
      return this.#progress.hold(record, found.problem, found.detail);
    }
    const gas = gasLimit(estimate, record.reverts);
    const offer = firstOffer(head.fees);
    const [balance, cost] = [await chain.balanceOf(from), gas * offer.maxFeePerGas];
    if (balance < cost) {
      return this.#progress.hold(
        record,
        "no_ether",
        `${from} has ${balance} wei, the transaction may cost ${cost} wei`,
      );
    }
    const signed = await this.#signing.first(record, signer, { gas, ...offer }, head);
    if (signed !== undefined) await this.#send(signed, head);
  }

  /** Concludes a call whose purpose is reached on chain, by one of our transactions or otherwise. */
  async #conclude(record: R, head: SendingHead, change: Change = {}): Promise<void> {
    const { work, timings } = this.#deps;
    const conclusion = await work.findConclusion(record, head.number);
    const isOurs =
      conclusion !== undefined && (conclusion.isOurs || record.attempts.some(({ hash }) => hash === conclusion.txHash));
    const isDeep =
      conclusion === undefined
        ? await this.#wasDoneAt(record, head.number - timings.confirmations)
        : head.number - conclusion.blockNumber >= timings.confirmations;
    const state = isOurs ? (isDeep ? "final" : "mined") : "superseded";
    // While its nonce may still be used, the record holds it.
    const isSettled = isDeep && !record.inFlight;
    await this.#progress.move(record, state, {
      txHash: conclusion?.txHash,
      blockNumber: conclusion?.blockNumber,
      dueAt: isSettled ? undefined : this.#inMs(timings.watchMs),
      ...change,
    });
  }

  async #wasDoneAt(record: R, blockNumber: number): Promise<boolean> {
    const { work } = this.#deps;
    return blockNumber >= 0 && (await work.obstacle(record, { blockNumber }))?.kind === "done";
  }

  // ----------------------------------------------------------------------------------------------
  // Something may be mined
  // ----------------------------------------------------------------------------------------------

  async #watch(record: Flight<R>, head: SendingHead): Promise<void> {
    const { network, chain, work, log } = this.#deps;
    const { from, nonce } = record;
    const current = record.attempts.filter((attempt) => attempt.nonce === nonce && isAddressEqual(attempt.from, from));
    // The count first: if one of ours has used the nonce, its receipt is there by now.
    const count = await chain.transactionCount(from);
    const lookups = await Promise.all(current.map(({ hash }) => chain.lookupReceipt(hash)));
    const mined = lookups.find((lookup) => lookup.status === "mined");
    if (mined !== undefined) return this.#afterReceipt(record, head, mined.receipt);
    if (record.state === "mined") {
      log.warn(
        { ...work.factsOf(record), network, txHash: record.txHash },
        `a reorganisation has removed the ${work.noun}`,
      );
    }
    if (count > nonce) return this.#afterForeignUse(record, head);
    await this.#push(record, head, count, lookups.at(-1));
  }

  async #afterReceipt(record: Flight<R>, head: SendingHead, receipt: Mined): Promise<void> {
    const { work, timings } = this.#deps;
    const { transactionHash: txHash } = receipt;
    const blockNumber = Number(receipt.blockNumber);
    const isDeep = head.number - blockNumber >= timings.confirmations;
    if (receipt.status === "success") {
      const dueAt = isDeep ? undefined : this.#inMs(timings.watchMs);
      const change = { txHash, blockNumber, inFlight: !isDeep, dueAt, unseen: undefined };
      await this.#progress.move(
        record,
        isDeep ? "final" : "mined",
        change,
        isDeep ? work.budget?.settle(record, receipt) : undefined,
      );
      return;
    }
    if (isDeep) return this.#startOver(record, head, { reverts: record.reverts + 1 }, receipt);
    await this.#waitForDepth(record, head, "reverted", `${txHash} reverted in block ${blockNumber}`);
  }

  async #afterForeignUse(record: Flight<R>, head: SendingHead): Promise<void> {
    const { chain, timings } = this.#deps;
    const { from, nonce } = record;
    const deepBlock = head.number - timings.confirmations;
    if (deepBlock >= 0 && (await chain.transactionCount(from, deepBlock)) > nonce) {
      return this.#startOver(record, head, {}, undefined);
    }
    await this.#waitForDepth(record, head, "nonce_taken", `another transaction of ${from} used nonce ${nonce}`);
  }

  /** A reorganisation may still undo what used the nonce, so no other nonce is allocated yet. */
  async #waitForDepth(record: Flight<R>, head: SendingHead, problem: string, detail: string): Promise<void> {
    const { work, timings } = this.#deps;
    const obstacle = await work.obstacle(record, {});
    if (obstacle?.kind === "done") return this.#conclude(record, head);
    const unmined = { txHash: undefined, blockNumber: undefined, unseen: undefined };
    await this.#progress.hold(record, problem, detail, { dueAt: this.#inMs(timings.watchMs), ...unmined });
  }

  /** None of the signed transactions can carry the call any more. */
  async #startOver(record: Flight<R>, head: SendingHead, change: Change, receipt: Mined | undefined): Promise<void> {
    const { network, work, log, now } = this.#deps;
    const { nonce, reverts } = record;
    const detail = `nonce ${nonce} of ${record.from} is used and didn't put the ${work.noun} on chain`;
    log.warn({ ...work.factsOf(record), network, nonce, reverts }, detail);
    const freed = await this.#progress.move(
      record,
      "queued",
      {
        inFlight: false,
        from: undefined,
        nonce: undefined,
        txHash: undefined,
        blockNumber: undefined,
        sentAt: undefined,
        sentAtBlock: undefined,
        unseen: undefined,
        dueAt: now(),
        ...change,
      },
      work.budget?.settle(record, receipt),
    );
    if (freed !== undefined) await this.#begin(freed, head);
  }

  /** Gets a signed transaction into a block: sends it, sends it again or raises its fees. */
  async #push(record: Flight<R>, head: SendingHead, count: number, latest: ReceiptLookup | undefined): Promise<void> {
    const { network, work, store } = this.#deps;
    const { from, nonce } = record;
    const isPending = latest?.status === "pending";
    const obstacle = await work.obstacle(record, { from });
    // Higher nonces wait for this one, so it is sent even if it will revert.
    const isAwaited = await store.hasInFlightAbove({ network, from }, nonce);
    if (obstacle?.kind === "problem" && !isAwaited) {
      await this.#progress.hold(record, obstacle.problem, obstacle.detail, {
        txHash: undefined,
        blockNumber: undefined,
      });
      return;
    }
    if (obstacle?.kind === "done" && !isAwaited) {
      // It will revert. Its nonce must be used up all the same, or the next call would wait for it.
      return this.#conclude(record, head, await this.#sentAgain(record, isPending));
    }
    if (count < nonce && !(await store.hasInFlight({ network, from }, count))) {
      const change = await this.#sentAgain(record, isPending);
      return this.#progress.hold(
        record,
        "nonce_gap",
        `nonce ${count} of ${from} is unused, this one has ${nonce}`,
        change,
      );
    }
    // After a reorganisation or a problem it is sent unchanged first: its age says nothing about its fees. One that the node
    // never had may need higher fees to take the place of another.
    const isResumed = record.state !== "sending" && record.problem !== NOT_IN_POOL && !isPending;
    if (isResumed) {
      const resumed = { ...record };
      delete resumed.sentAt;
      delete resumed.sentAtBlock;
      return this.#send(resumed, head);
    }
    if (count === nonce && (obstacle === undefined || isAwaited) && this.#isOverdue(record, head)) {
      return this.#raise(record, head, isPending);
    }
    if (isPending) await this.#progress.move(record, "sending", { ...this.#pushed(record, head), unseen: undefined });
    else await this.#send(record, head);
  }

  #isOverdue({ sentAt, sentAtBlock = 0 }: Flight<R>, head: SendingHead): boolean {
    const { now, timings } = this.#deps;
    if (sentAt === undefined) return false;
    return head.number > sentAtBlock && now().getTime() - sentAt.getTime() >= timings.bumpAfterMs;
  }

  /** Replaces the transaction by one with higher fees and the same nonce. Either may be mined. */
  async #raise(record: Flight<R>, head: SendingHead, isPending: boolean): Promise<void> {
    const { work, timings } = this.#deps;
    const signer = work.signerOf(record);
    const last = record.attempts.at(-1);
    if (signer === undefined || last === undefined || !isAddressEqual(signer.address, record.from)) {
      const change = await this.#sentAgain(record, isPending);
      return this.#progress.hold(record, "no_key", `only the key of ${record.from} can raise the fees`, change);
    }
    const offered = {
      maxFeePerGas: BigInt(last.maxFeePerGas),
      maxPriorityFeePerGas: BigInt(last.maxPriorityFeePerGas),
    };
    const offer = nextOffer(offered, head.fees, timings.feeCapMultiple);
    if (offer === undefined) {
      const change = await this.#sentAgain(record, isPending);
      return this.#progress.hold(record, "fee_cap", `${last.maxFeePerGas} wei can't be raised within the cap`, change);
    }
    const raised = await this.#signing.replacement(record, signer, { gas: BigInt(last.gas), ...offer }, head);
    if (raised !== undefined) await this.#send(raised, head);
  }

  /** Sends the latest transaction and notes when. */
  async #send(record: Flight<R>, head: SendingHead): Promise<void> {
    const unseen = await this.#broadcasts.send(record);
    const { since, sends, refusal } = unseen;
    const problem = refusal === null ? undefined : refusalProblem(refusal);
    if (problem !== undefined) {
      await this.#progress.hold(record, problem, refusal ?? "", {
        ...this.#pushedAt(record, head),
        ...this.#broadcasts.lookingAgain(unseen),
      });
    } else if (this.#broadcasts.isStuck(unseen)) {
      const said = refusal === null ? "the node took it" : `the node says: ${refusal}`;
      const detail = `sent ${sends} times since ${since.toISOString()}; ${said}`;
      await this.#progress.hold(record, NOT_IN_POOL, detail, {
        ...this.#pushedAt(record, head),
        ...this.#broadcasts.lookingAgain(unseen),
      });
    } else {
      await this.#progress.move(record, "sending", { ...this.#pushed(record, head), unseen });
    }
  }

  /** Sends a transaction that waits for something else, so that the node has it, unless it has. */
  async #sentAgain(record: Flight<R>, isPending: boolean): Promise<Change> {
    return isPending ? { unseen: undefined } : this.#broadcasts.lookingAgain(await this.#broadcasts.send(record));
  }

  #pushedAt({ sentAt, sentAtBlock }: Flight<R>, head: SendingHead): Change {
    return {
      sentAt: sentAt ?? this.#deps.now(),
      sentAtBlock: sentAtBlock ?? head.number,
      txHash: undefined,
      blockNumber: undefined,
    };
  }

  #pushed(record: Flight<R>, head: SendingHead): Change {
    return { ...this.#pushedAt(record, head), dueAt: this.#inMs(this.#deps.timings.pollMs) };
  }

  #inMs(ms: number): Date {
    return new Date(this.#deps.now().getTime() + ms);
  }
}
