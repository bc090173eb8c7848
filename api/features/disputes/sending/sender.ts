import { isAddressEqual } from "viem";
import type { Address, Hex } from "viem";

import { escrowAbi } from "../../../chain/abis.ts";
import type { Deployment } from "../../../chain/deployment.ts";
import type { ReceiptLookup } from "../../../chain/receipt-lookup.ts";
import type { SendingChain, SendingHead } from "../../../chain/sending-chain.ts";
import type { TransactionSigner } from "../../../chain/signer.ts";
import type { Network } from "../../../config/constants.ts";
import type { ResolvedBy } from "../../../indexer/schemas.ts";
import type { Logger } from "../../../lib/logger.ts";
import { pauseAfter } from "../../../lib/retry.ts";
import { findResolution, rulingCall } from "./calls.ts";
import { firstOffer, nextOffer } from "./fees.ts";
import type { Offer } from "./fees.ts";
import type { RulingState, RulingTransactionRecord, SigningAttempt } from "./model.ts";
import { obstacleOf, refusalProblem, stateObstacle } from "./problems.ts";
import type { Obstacle, Problem } from "./problems.ts";
import type { Change, RulingStore } from "./store.ts";
import type { SendingTimings } from "./timings.ts";

/** Dependencies of the sender of one network. */
export interface SenderDeps {
  network: Network;
  chain: SendingChain;
  deployment: Pick<Deployment, "escrow" | "resolver">;
  /** The wallets of the roles; undefined where this service has no key. */
  signers: Readonly<Record<ResolvedBy, TransactionSigner | undefined>>;
  store: RulingStore;
  log: Logger;
  now: () => Date;
  timings: SendingTimings;
}

/** Looks at one ruling and takes its next step. */
export type Look = (record: RulingTransactionRecord, head: SendingHead) => Promise<void>;

/** A quarter above the estimate, and another quarter for each revert: the state may change before the block. */
const GAS_QUARTERS = 4n;
/** Times that a nonce is allocated again because another process took it. */
const ALLOCATIONS = 5;

/** What happened to a transaction whose nonce may be used. */
type Flight = Required<Pick<RulingTransactionRecord, "from" | "nonce">> & RulingTransactionRecord;

/**
 * The sender of one network. It trusts only the chain: each look first finds out what became of the transactions that are
 * signed. It stores before it sends, and every write fails if another process has changed the ruling since it was read. So
 * a look may be cut off after any instruction, and two may run at once.
 */
export function createSender(deps: SenderDeps): {
  look: Look;
  postpone: (record: RulingTransactionRecord) => Promise<void>;
} {
  const { network, chain, deployment, signers, store, log, now, timings } = deps;

  const inMs = (ms: number): Date => new Date(now().getTime() + ms);

  /** Writes the result of a look. */
  async function move(
    record: RulingTransactionRecord,
    state: RulingState,
    { problem = null, detail = null, ...change }: Change = {},
  ): Promise<RulingTransactionRecord | undefined> {
    const hasChanged = state !== record.state || problem !== record.problem;
    const written = await store.write(record, {
      ...{ state, problem, detail },
      failures: problem === null ? 0 : record.failures + 1,
      ...(hasChanged ? { since: now() } : {}),
      ...change,
    });
    if (hasChanged && written !== undefined) report(written);
    return written;
  }

  function report({ _id, state, problem, detail, txHash, attempts }: RulingTransactionRecord): void {
    const facts = { disputeId: _id, network, state, problem, detail, txHash: txHash ?? attempts.at(-1)?.hash };
    if (problem !== null) log.warn(facts, `the ruling isn't on chain yet: ${problem}`);
    else log.info(facts, `the ruling is ${state}`);
  }

  /** A problem that time or an operator solves. */
  async function hold(
    record: RulingTransactionRecord,
    problem: Problem,
    detail: string,
    change: Change = {},
  ): Promise<void> {
    const pauseMs = pauseAfter(record.failures, timings.retry);
    const dueAt = inMs(record.inFlight ? Math.min(pauseMs, timings.watchMs) : pauseMs);
    await move(record, "held", { problem, detail, dueAt, ...change });
  }

  async function escrowState(escrowId: Hex, blockNumber?: number): Promise<number> {
    const { state } = await chain.read((client) =>
      client.readContract({
        ...{ address: deployment.escrow, abi: escrowAbi, functionName: "getEscrow", args: [escrowId] },
        ...(blockNumber === undefined ? {} : { blockNumber: BigInt(blockNumber) }),
      }),
    );
    return state;
  }

  /** What keeps this wallet from ruling at the latest block. */
  async function obstacleFor(
    record: RulingTransactionRecord,
    from: Address | undefined,
  ): Promise<Obstacle | undefined> {
    const obstacle = stateObstacle(await escrowState(record.escrowId));
    if (obstacle !== undefined || from === undefined) return obstacle;
    const revert = await chain.simulate({ from, ...rulingCall(deployment.resolver, record) });
    return revert === undefined ? undefined : obstacleOf(revert);
  }

  // ----------------------------------------------------------------------------------------------
  // Nothing may be mined
  // ----------------------------------------------------------------------------------------------

  async function begin(record: RulingTransactionRecord, head: SendingHead): Promise<void> {
    const signer = signers[record.role];
    const obstacle = await obstacleFor(record, signer?.address);
    if (obstacle?.kind === "resolved") return conclude(record, head);
    if (obstacle !== undefined) return hold(record, obstacle.problem, obstacle.detail);
    if (signer === undefined) {
      return hold(record, "no_key", `this service has no key for the role ${record.role}`);
    }
    const from = signer.address;
    if ((await store.countUnmined({ network, from })) >= timings.maxInFlight) {
      await move(record, "queued", { dueAt: inMs(timings.pollMs) });
      return;
    }
    const call = rulingCall(deployment.resolver, record);
    const estimate = await chain.estimateGas({ from, ...call });
    if (typeof estimate !== "bigint") {
      const found = obstacleOf(estimate);
      if (found.kind === "resolved") return conclude(record, head);
      return hold(record, found.problem, found.detail);
    }
    const gas = estimate + (estimate * BigInt(1 + record.reverts)) / GAS_QUARTERS;
    const offer = firstOffer(head.fees);
    const [balance, cost] = [await chain.balanceOf(from), gas * offer.maxFeePerGas];
    if (balance < cost) {
      return hold(record, "no_ether", `${from} has ${balance} wei, the transaction may cost ${cost} wei`);
    }
    const signed = await allocate(record, signer, { gas, ...offer });
    if (signed !== undefined) await send(signed, head);
  }

  /** Signs with the next nonce, and stores both in one write. */
  async function allocate(record: RulingTransactionRecord, signer: TransactionSigner, terms: Offer & { gas: bigint }) {
    const wallet = { network, from: signer.address };
    for (let allocation = 1; allocation <= ALLOCATIONS; allocation += 1) {
      const highest = await store.highestNonce(wallet);
      const nonce = Math.max(await chain.transactionCount(signer.address), highest === undefined ? 0 : highest + 1);
      const stored = await addAttempt(record, signer, nonce, terms);
      if (stored !== "taken") return stored;
    }
    return undefined;
  }

  async function addAttempt(
    record: RulingTransactionRecord,
    signer: TransactionSigner,
    nonce: number,
    terms: Offer & { gas: bigint },
  ): Promise<Flight | "taken" | undefined> {
    const { gas, maxFeePerGas, maxPriorityFeePerGas } = terms;
    const signed = await signer.sign({ ...rulingCall(deployment.resolver, record), nonce, ...terms });
    const attempt: SigningAttempt = {
      ...signed,
      ...{ from: signer.address, nonce, gas: String(gas), signedAt: now() },
      ...{ maxFeePerGas: String(maxFeePerGas), maxPriorityFeePerGas: String(maxPriorityFeePerGas) },
    };
    const stored = await store.addAttempt(record, attempt, {
      ...{ state: "sending", problem: null, detail: null, failures: 0, dueAt: inMs(timings.pollMs) },
      ...(record.state === "sending" && record.problem === null ? {} : { since: now() }),
    });
    if (stored === undefined || stored === "taken") return stored;
    log.info({ disputeId: record._id, network, nonce, txHash: attempt.hash }, "the ruling's transaction is signed");
    return stored as Flight;
  }

  /** The chain shows the dispute as resolved: by a ruling with our hash, or otherwise. */
  async function conclude(record: RulingTransactionRecord, head: SendingHead): Promise<void> {
    const resolution = await findResolution(chain, deployment, record.escrowId, head.number);
    const isOurs =
      resolution !== undefined &&
      (resolution.rationaleHash === record.rationaleHash ||
        record.attempts.some(({ hash }) => hash === resolution.txHash));
    const isDeep =
      resolution === undefined
        ? await wasResolvedAt(record.escrowId, head.number - timings.confirmations)
        : head.number - resolution.blockNumber >= timings.confirmations;
    const state = isOurs ? (isDeep ? "final" : "mined") : "superseded";
    // While its nonce may still be used, the ruling holds it.
    const isSettled = isDeep && !record.inFlight;
    await move(record, state, {
      ...{ txHash: resolution?.txHash, blockNumber: resolution?.blockNumber },
      dueAt: isSettled ? undefined : inMs(timings.watchMs),
    });
  }

  async function wasResolvedAt(escrowId: Hex, blockNumber: number): Promise<boolean> {
    return blockNumber >= 0 && stateObstacle(await escrowState(escrowId, blockNumber))?.kind === "resolved";
  }

  // ----------------------------------------------------------------------------------------------
  // Something may be mined
  // ----------------------------------------------------------------------------------------------

  async function watch(record: Flight, head: SendingHead): Promise<void> {
    const { from, nonce } = record;
    const current = record.attempts.filter((attempt) => attempt.nonce === nonce && isAddressEqual(attempt.from, from));
    // The count first: if one of ours has used the nonce, its receipt is there by now.
    const count = await chain.transactionCount(from);
    const lookups = await Promise.all(current.map(({ hash }) => chain.lookupReceipt(hash)));
    const mined = lookups.find((lookup) => lookup.status === "mined");
    if (mined !== undefined) return afterReceipt(record, head, mined.receipt);
    if (record.state === "mined") {
      log.warn({ disputeId: record._id, network, txHash: record.txHash }, "a reorganisation has removed the ruling");
    }
    if (count > nonce) return afterForeignUse(record, head);
    await push(record, head, count, lookups.at(-1));
  }

  async function afterReceipt(
    record: Flight,
    head: SendingHead,
    receipt: Extract<ReceiptLookup, { status: "mined" }>["receipt"],
  ): Promise<void> {
    const { transactionHash: txHash } = receipt;
    const blockNumber = Number(receipt.blockNumber);
    const isDeep = head.number - blockNumber >= timings.confirmations;
    if (receipt.status === "success") {
      const change = { txHash, blockNumber, inFlight: !isDeep, dueAt: isDeep ? undefined : inMs(timings.watchMs) };
      await move(record, isDeep ? "final" : "mined", change);
      return;
    }
    if (isDeep) return startOver(record, head, { reverts: record.reverts + 1 });
    await waitForDepth(record, head, "reverted", `${txHash} reverted in block ${blockNumber}`);
  }

  async function afterForeignUse(record: Flight, head: SendingHead): Promise<void> {
    const { from, nonce } = record;
    const deepBlock = head.number - timings.confirmations;
    if (deepBlock >= 0 && (await chain.transactionCount(from, deepBlock)) > nonce) return startOver(record, head, {});
    await waitForDepth(record, head, "nonce_taken", `another transaction of ${from} used nonce ${nonce}`);
  }

  /** A reorganisation may still undo what used the nonce, so no other nonce is allocated yet. */
  async function waitForDepth(record: Flight, head: SendingHead, problem: Problem, detail: string): Promise<void> {
    const obstacle = stateObstacle(await escrowState(record.escrowId));
    if (obstacle?.kind === "resolved") return conclude(record, head);
    await hold(record, problem, detail, { dueAt: inMs(timings.watchMs), txHash: undefined, blockNumber: undefined });
  }

  /** None of the signed transactions can resolve the dispute any more. */
  async function startOver(record: Flight, head: SendingHead, change: Change): Promise<void> {
    const detail = `nonce ${record.nonce} of ${record.from} is used and the dispute isn't resolved by it`;
    log.warn({ disputeId: record._id, network, nonce: record.nonce, reverts: record.reverts }, detail);
    const freed = await move(record, "queued", {
      ...{ inFlight: false, from: undefined, nonce: undefined, txHash: undefined, blockNumber: undefined },
      ...{ sentAt: undefined, sentAtBlock: undefined, dueAt: now(), ...change },
    });
    if (freed !== undefined) await begin(freed, head);
  }

  /** Gets a signed transaction into a block: sends it, sends it again or raises its fees. */
  async function push(
    record: Flight,
    head: SendingHead,
    count: number,
    latest: ReceiptLookup | undefined,
  ): Promise<void> {
    const { from, nonce } = record;
    const obstacle = await obstacleFor(record, from);
    // Higher nonces wait for this one, so it is sent even if it will revert.
    const isAwaited = await store.hasInFlightAbove({ network, from }, nonce);
    if (obstacle?.kind === "problem" && !isAwaited) {
      await hold(record, obstacle.problem, obstacle.detail, { txHash: undefined, blockNumber: undefined });
      return;
    }
    if (obstacle?.kind === "resolved" && !isAwaited) {
      // It will revert. Its nonce must be used up all the same, or the next ruling would wait for it.
      if (latest?.status !== "pending") await broadcast(record);
      return conclude(record, head);
    }
    if (count < nonce && !(await store.hasInFlight({ network, from }, count))) {
      if (latest?.status !== "pending") await broadcast(record);
      return hold(record, "nonce_gap", `nonce ${count} of ${from} is unused, this one has ${nonce}`);
    }
    // After a reorganisation or a problem it is sent unchanged first: its age says nothing about its fees.
    const isResumed = record.state !== "sending" && latest?.status !== "pending";
    if (isResumed) {
      const resumed = { ...record };
      delete resumed.sentAt;
      delete resumed.sentAtBlock;
      return send(resumed, head);
    }
    if (count === nonce && (obstacle === undefined || isAwaited) && isOverdue(record, head)) {
      return raise(record, head, latest);
    }
    if (latest?.status === "pending") await move(record, "sending", pushed(record, head));
    else await send(record, head);
  }

  function isOverdue({ sentAt, sentAtBlock = 0 }: Flight, head: SendingHead): boolean {
    if (sentAt === undefined) return false;
    return head.number > sentAtBlock && now().getTime() - sentAt.getTime() >= timings.bumpAfterMs;
  }

  /** Replaces the transaction by one with higher fees and the same nonce. Either may be mined. */
  async function raise(record: Flight, head: SendingHead, latest: ReceiptLookup | undefined): Promise<void> {
    const signer = signers[record.role];
    const last = record.attempts.at(-1);
    if (signer === undefined || last === undefined || !isAddressEqual(signer.address, record.from)) {
      if (latest?.status !== "pending") await broadcast(record);
      return hold(record, "no_key", `only the key of ${record.from} can raise the fees`);
    }
    const offered = {
      maxFeePerGas: BigInt(last.maxFeePerGas),
      maxPriorityFeePerGas: BigInt(last.maxPriorityFeePerGas),
    };
    const offer = nextOffer(offered, head.fees, timings.feeCapMultiple);
    if (offer === undefined) {
      if (latest?.status !== "pending") await broadcast(record);
      return hold(record, "fee_cap", `${last.maxFeePerGas} wei can't be raised within the cap`);
    }
    const raised = await addAttempt(record, signer, record.nonce, { gas: BigInt(last.gas), ...offer });
    if (raised !== undefined && raised !== "taken") await send(raised, head);
  }

  /** Sends the latest transaction and notes when. */
  async function send(record: Flight, head: SendingHead): Promise<void> {
    const reason = await broadcast(record);
    const problem = reason === undefined ? undefined : refusalProblem(reason);
    if (problem === undefined) await move(record, "sending", pushed(record, head));
    else await hold(record, problem, reason ?? "", pushedAt(record, head));
  }

  /** @returns why the node refused it, if it did */
  async function broadcast({ _id, attempts }: Flight): Promise<string | undefined> {
    const attempt = attempts.at(-1);
    if (attempt === undefined) return undefined;
    const answer = await chain.broadcast(attempt.raw);
    if (answer.kind === "accepted") return undefined;
    log.info(
      { disputeId: _id, network, txHash: attempt.hash, reason: answer.reason },
      "the node refused the transaction",
    );
    return answer.reason;
  }

  const pushedAt = ({ sentAt, sentAtBlock }: Flight, head: SendingHead): Change => ({
    ...{ sentAt: sentAt ?? now(), sentAtBlock: sentAtBlock ?? head.number },
    ...{ txHash: undefined, blockNumber: undefined },
  });
  const pushed = (record: Flight, head: SendingHead): Change => ({
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
