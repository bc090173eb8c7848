import { isAddressEqual } from "viem";

import type { Network } from "../../config/constants.ts";
import type { Logger } from "../../lib/logger.ts";
import { pauseAfter } from "../../lib/retry.ts";
import type { ReceiptLookup } from "../receipt-lookup.ts";
import type { SendingChain, SendingHead } from "../sending-chain.ts";
import type { TransactionSigner } from "../signer.ts";
import { Broadcasts } from "./broadcasts.ts";
import { firstOffer, gasLimit, nextOffer } from "./fees.ts";
import type { Offer } from "./fees.ts";
import { refusalProblem } from "./problems.ts";
import type { SendingProblem } from "./problems.ts";
import type { SendingRecord, SendingState, SigningAttempt } from "./record.ts";
import type { Change, Extra, SendingStore } from "./store.ts";
import type { SendingTimings } from "./timings.ts";
import { BudgetSpentError } from "./work.ts";
import type { Work } from "./work.ts";

/** Dependencies of the sender of one network. */
export interface SenderDeps<R extends SendingRecord> {
  network: Network;
  chain: SendingChain;
  work: Work<R>;
  store: SendingStore<R>;
  log: Logger;
  now: () => Date;
  timings: SendingTimings;
}

/** Takes the next step of a call. */
export interface Sender<R extends SendingRecord> {
  look(record: R, head: SendingHead): Promise<void>;
  /** Looks again later, after an error that isn't known. */
  postpone(record: R): Promise<void>;
}

/** The problem of a transaction that no node has. */
const NOT_IN_POOL: SendingProblem = "not_in_pool";

/** Times that a nonce is allocated again because another process took it. */
const ALLOCATIONS = 5;

/** A record with a signed transaction: its wallet and nonce are set. */
type Flight<R extends SendingRecord> = R & Required<Pick<SendingRecord, "from" | "nonce">>;

type Mined = Extract<ReceiptLookup, { status: "mined" }>["receipt"];

/**
 * The sender of one network. It trusts only the chain: each look first finds out what became of the transactions that are
 * signed. It stores before it sends, and every write fails if another process has changed the record since it was read. So
 * a look may be cut off after any instruction, and two may run at once.
 */
export function createSender<R extends SendingRecord>(deps: SenderDeps<R>): Sender<R> {
  const { network, chain, work, store, log, now, timings } = deps;
  const { noun, budget } = work;
  const broadcasts = new Broadcasts(deps);

  const inMs = (ms: number): Date => new Date(now().getTime() + ms);

  /** Writes the result of a look. */
  async function move(
    record: R,
    state: SendingState,
    { problem = null, detail = null, ...change }: Change = {},
    extra?: Extra,
  ): Promise<R | undefined> {
    const hasChanged = state !== record.state || problem !== record.problem;
    const written = await store.write(
      record,
      {
        state,
        problem,
        detail,
        failures: problem === null ? 0 : record.failures + 1,
        ...(hasChanged ? { since: now() } : {}),
        ...change,
      },
      extra,
    );
    if (hasChanged && written !== undefined) report(written);
    return written;
  }

  function report(record: R): void {
    const { state, problem, detail, txHash, attempts } = record;
    const facts = { ...work.factsOf(record), network, state, problem, detail, txHash: txHash ?? attempts.at(-1)?.hash };
    if (problem !== null) log.warn(facts, `the ${noun} isn't on chain yet: ${problem}`);
    else log.info(facts, `the ${noun} is ${state}`);
  }

  /** A problem that time or an operator solves. */
  async function hold(record: R, problem: string, detail: string, change: Change = {}): Promise<void> {
    const pauseMs = pauseAfter(record.failures, timings.retry);
    const dueAt = inMs(record.inFlight ? Math.min(pauseMs, timings.watchMs) : pauseMs);
    await move(record, "held", { problem, detail, dueAt, ...change });
  }

  // ----------------------------------------------------------------------------------------------
  // Nothing may be mined
  // ----------------------------------------------------------------------------------------------

  async function begin(record: R, head: SendingHead): Promise<void> {
    const signer = work.signerOf(record);
    const obstacle = await work.obstacle(record, { from: signer?.address });
    if (obstacle?.kind === "done") return conclude(record, head);
    if (obstacle !== undefined) return hold(record, obstacle.problem, obstacle.detail);
    if (signer === undefined) {
      return hold(record, "no_key", `this service has no key for this ${noun}`);
    }
    const from = signer.address;
    if ((await store.countUnmined({ network, from })) >= timings.maxInFlight) {
      await move(record, "queued", { dueAt: inMs(timings.pollMs) });
      return;
    }
    const call = work.callOf(record);
    const estimate = await chain.estimateGas({ from, ...call });
    if (typeof estimate !== "bigint") {
      const found = work.obstacleOf(record, estimate);
      if (found.kind === "done") return conclude(record, head);
      return hold(record, found.problem, found.detail);
    }
    const gas = gasLimit(estimate, record.reverts);
    const offer = firstOffer(head.fees);
    const [balance, cost] = [await chain.balanceOf(from), gas * offer.maxFeePerGas];
    if (balance < cost) {
      return hold(record, "no_ether", `${from} has ${balance} wei, the transaction may cost ${cost} wei`);
    }
    const signed = await withinBudget(record, () => allocate(record, signer, { gas, ...offer }, head));
    if (signed !== undefined) await send(signed, head);
  }

  /** Signs within the budget. Otherwise the record waits. */
  async function withinBudget<T>(record: R, sign: () => Promise<T>): Promise<T | undefined> {
    try {
      return await sign();
    } catch (error) {
      if (!(error instanceof BudgetSpentError)) throw error;
      await hold(record, error.problem, error.message);
      return undefined;
    }
  }

  /** Signs with the next nonce, and stores both in one write. */
  async function allocate(record: R, signer: TransactionSigner, terms: Offer & { gas: bigint }, head: SendingHead) {
    const wallet = { network, from: signer.address };
    for (let allocation = 1; allocation <= ALLOCATIONS; allocation += 1) {
      const highest = await store.highestNonce(wallet);
      const nonce = Math.max(await chain.transactionCount(signer.address), highest === undefined ? 0 : highest + 1);
      const stored = await addAttempt(record, signer, { ...terms, nonce }, head);
      if (stored !== "taken") return stored;
    }
    return undefined;
  }

  async function addAttempt(
    record: R,
    signer: TransactionSigner,
    terms: Offer & { gas: bigint; nonce: number },
    head: SendingHead,
  ): Promise<Flight<R> | "taken" | undefined> {
    const { gas, nonce, maxFeePerGas, maxPriorityFeePerGas } = terms;
    const signed = await signer.sign({ ...work.callOf(record), ...terms });
    const extra = await budget?.reserve(record, { wei: gas * maxFeePerGas, raw: signed.raw, head });
    const attempt: SigningAttempt = {
      ...signed,
      from: signer.address,
      nonce,
      gas: String(gas),
      signedAt: now(),
      maxFeePerGas: String(maxFeePerGas),
      maxPriorityFeePerGas: String(maxPriorityFeePerGas),
    };
    const stored = await store.addAttempt(
      record,
      attempt,
      {
        state: "sending",
        problem: null,
        detail: null,
        failures: 0,
        dueAt: inMs(timings.pollMs),
        ...(record.state === "sending" && record.problem === null ? {} : { since: now() }),
        // A replacement is sent at once.
        ...(record.unseen === undefined ? {} : { unseen: { ...record.unseen, nextAt: now() } }),
      },
      extra,
    );
    if (stored === undefined || stored === "taken") return stored;
    log.info({ ...work.factsOf(record), network, nonce, txHash: attempt.hash }, `the ${noun}'s transaction is signed`);
    return stored as Flight<R>;
  }

  /** Concludes a call whose purpose is reached on chain, by one of our transactions or otherwise. */
  async function conclude(record: R, head: SendingHead, change: Change = {}): Promise<void> {
    const conclusion = await work.findConclusion(record, head.number);
    const isOurs =
      conclusion !== undefined && (conclusion.isOurs || record.attempts.some(({ hash }) => hash === conclusion.txHash));
    const isDeep =
      conclusion === undefined
        ? await wasDoneAt(record, head.number - timings.confirmations)
        : head.number - conclusion.blockNumber >= timings.confirmations;
    const state = isOurs ? (isDeep ? "final" : "mined") : "superseded";
    // While its nonce may still be used, the record holds it.
    const isSettled = isDeep && !record.inFlight;
    await move(record, state, {
      txHash: conclusion?.txHash,
      blockNumber: conclusion?.blockNumber,
      dueAt: isSettled ? undefined : inMs(timings.watchMs),
      ...change,
    });
  }

  async function wasDoneAt(record: R, blockNumber: number): Promise<boolean> {
    return blockNumber >= 0 && (await work.obstacle(record, { blockNumber }))?.kind === "done";
  }

  // ----------------------------------------------------------------------------------------------
  // Something may be mined
  // ----------------------------------------------------------------------------------------------

  async function watch(record: Flight<R>, head: SendingHead): Promise<void> {
    const { from, nonce } = record;
    const current = record.attempts.filter((attempt) => attempt.nonce === nonce && isAddressEqual(attempt.from, from));
    // The count first: if one of ours has used the nonce, its receipt is there by now.
    const count = await chain.transactionCount(from);
    const lookups = await Promise.all(current.map(({ hash }) => chain.lookupReceipt(hash)));
    const mined = lookups.find((lookup) => lookup.status === "mined");
    if (mined !== undefined) return afterReceipt(record, head, mined.receipt);
    if (record.state === "mined") {
      log.warn({ ...work.factsOf(record), network, txHash: record.txHash }, `a reorganisation has removed the ${noun}`);
    }
    if (count > nonce) return afterForeignUse(record, head);
    await push(record, head, count, lookups.at(-1));
  }

  async function afterReceipt(record: Flight<R>, head: SendingHead, receipt: Mined): Promise<void> {
    const { transactionHash: txHash } = receipt;
    const blockNumber = Number(receipt.blockNumber);
    const isDeep = head.number - blockNumber >= timings.confirmations;
    if (receipt.status === "success") {
      const dueAt = isDeep ? undefined : inMs(timings.watchMs);
      const change = { txHash, blockNumber, inFlight: !isDeep, dueAt, unseen: undefined };
      await move(record, isDeep ? "final" : "mined", change, isDeep ? budget?.settle(record, receipt) : undefined);
      return;
    }
    if (isDeep) return startOver(record, head, { reverts: record.reverts + 1 }, receipt);
    await waitForDepth(record, head, "reverted", `${txHash} reverted in block ${blockNumber}`);
  }

  async function afterForeignUse(record: Flight<R>, head: SendingHead): Promise<void> {
    const { from, nonce } = record;
    const deepBlock = head.number - timings.confirmations;
    if (deepBlock >= 0 && (await chain.transactionCount(from, deepBlock)) > nonce) {
      return startOver(record, head, {}, undefined);
    }
    await waitForDepth(record, head, "nonce_taken", `another transaction of ${from} used nonce ${nonce}`);
  }

  /** A reorganisation may still undo what used the nonce, so no other nonce is allocated yet. */
  async function waitForDepth(record: Flight<R>, head: SendingHead, problem: string, detail: string): Promise<void> {
    const obstacle = await work.obstacle(record, {});
    if (obstacle?.kind === "done") return conclude(record, head);
    const unmined = { txHash: undefined, blockNumber: undefined, unseen: undefined };
    await hold(record, problem, detail, { dueAt: inMs(timings.watchMs), ...unmined });
  }

  /** None of the signed transactions can carry the call any more. */
  async function startOver(
    record: Flight<R>,
    head: SendingHead,
    change: Change,
    receipt: Mined | undefined,
  ): Promise<void> {
    const { nonce, reverts } = record;
    const detail = `nonce ${nonce} of ${record.from} is used and didn't put the ${noun} on chain`;
    log.warn({ ...work.factsOf(record), network, nonce, reverts }, detail);
    const freed = await move(
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
      budget?.settle(record, receipt),
    );
    if (freed !== undefined) await begin(freed, head);
  }

  /** Gets a signed transaction into a block: sends it, sends it again or raises its fees. */
  async function push(
    record: Flight<R>,
    head: SendingHead,
    count: number,
    latest: ReceiptLookup | undefined,
  ): Promise<void> {
    const { from, nonce } = record;
    const isPending = latest?.status === "pending";
    const obstacle = await work.obstacle(record, { from });
    // Higher nonces wait for this one, so it is sent even if it will revert.
    const isAwaited = await store.hasInFlightAbove({ network, from }, nonce);
    if (obstacle?.kind === "problem" && !isAwaited) {
      await hold(record, obstacle.problem, obstacle.detail, { txHash: undefined, blockNumber: undefined });
      return;
    }
    if (obstacle?.kind === "done" && !isAwaited) {
      // It will revert. Its nonce must be used up all the same, or the next call would wait for it.
      return conclude(record, head, await sentAgain(record, isPending));
    }
    if (count < nonce && !(await store.hasInFlight({ network, from }, count))) {
      const change = await sentAgain(record, isPending);
      return hold(record, "nonce_gap", `nonce ${count} of ${from} is unused, this one has ${nonce}`, change);
    }
    // After a reorganisation or a problem it is sent unchanged first: its age says nothing about its fees. One that the node
    // never had may need higher fees to take the place of another.
    const isResumed = record.state !== "sending" && record.problem !== NOT_IN_POOL && !isPending;
    if (isResumed) {
      const resumed = { ...record };
      delete resumed.sentAt;
      delete resumed.sentAtBlock;
      return send(resumed, head);
    }
    if (count === nonce && (obstacle === undefined || isAwaited) && isOverdue(record, head)) {
      return raise(record, head, isPending);
    }
    if (isPending) await move(record, "sending", { ...pushed(record, head), unseen: undefined });
    else await send(record, head);
  }

  function isOverdue({ sentAt, sentAtBlock = 0 }: Flight<R>, head: SendingHead): boolean {
    if (sentAt === undefined) return false;
    return head.number > sentAtBlock && now().getTime() - sentAt.getTime() >= timings.bumpAfterMs;
  }

  /** Replaces the transaction by one with higher fees and the same nonce. Either may be mined. */
  async function raise(record: Flight<R>, head: SendingHead, isPending: boolean): Promise<void> {
    const signer = work.signerOf(record);
    const last = record.attempts.at(-1);
    if (signer === undefined || last === undefined || !isAddressEqual(signer.address, record.from)) {
      const change = await sentAgain(record, isPending);
      return hold(record, "no_key", `only the key of ${record.from} can raise the fees`, change);
    }
    const offered = {
      maxFeePerGas: BigInt(last.maxFeePerGas),
      maxPriorityFeePerGas: BigInt(last.maxPriorityFeePerGas),
    };
    const offer = nextOffer(offered, head.fees, timings.feeCapMultiple);
    if (offer === undefined) {
      const change = await sentAgain(record, isPending);
      return hold(record, "fee_cap", `${last.maxFeePerGas} wei can't be raised within the cap`, change);
    }
    const terms = { gas: BigInt(last.gas), nonce: record.nonce, ...offer };
    const raised = await withinBudget(record, () => addAttempt(record, signer, terms, head));
    if (raised !== undefined && raised !== "taken") await send(raised, head);
  }

  /** Sends the latest transaction and notes when. */
  async function send(record: Flight<R>, head: SendingHead): Promise<void> {
    const unseen = await broadcasts.send(record);
    const { since, sends, refusal } = unseen;
    const problem = refusal === null ? undefined : refusalProblem(refusal);
    if (problem !== undefined) {
      await hold(record, problem, refusal ?? "", { ...pushedAt(record, head), ...broadcasts.lookingAgain(unseen) });
    } else if (broadcasts.isStuck(unseen)) {
      const said = refusal === null ? "the node took it" : `the node says: ${refusal}`;
      const detail = `sent ${sends} times since ${since.toISOString()}; ${said}`;
      await hold(record, NOT_IN_POOL, detail, { ...pushedAt(record, head), ...broadcasts.lookingAgain(unseen) });
    } else {
      await move(record, "sending", { ...pushed(record, head), unseen });
    }
  }

  /** Sends a transaction that waits for something else, so that the node has it, unless it has. */
  async function sentAgain(record: Flight<R>, isPending: boolean): Promise<Change> {
    return isPending ? { unseen: undefined } : broadcasts.lookingAgain(await broadcasts.send(record));
  }

  const pushedAt = ({ sentAt, sentAtBlock }: Flight<R>, head: SendingHead): Change => ({
    sentAt: sentAt ?? now(),
    sentAtBlock: sentAtBlock ?? head.number,
    txHash: undefined,
    blockNumber: undefined,
  });
  const pushed = (record: Flight<R>, head: SendingHead): Change => ({
    ...pushedAt(record, head),
    dueAt: inMs(timings.pollMs),
  });

  return {
    async look(record, head) {
      const { inFlight, from, nonce } = record;
      if (inFlight && from !== undefined && nonce !== undefined) await watch({ ...record, from, nonce }, head);
      else await begin(record, head);
    },
    async postpone(record) {
      await hold(record, "unexpected", "see the log");
    },
  };
}
