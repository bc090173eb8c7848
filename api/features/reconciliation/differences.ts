import type { Network } from "../../config/constants.ts";
import { isDuplicateKey } from "../../db/connection.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import type { Logger } from "../../lib/logger.ts";
import { doubled } from "../../lib/retry.ts";
import type { StandingRecord } from "../agents/model.ts";
import type { RecheckQueue } from "../chain-follower/recheck-queue.ts";
import type { TransactionRecord } from "../transactions/model.ts";
import type { ComparedKind, DifferenceRecord, ReconciliationModels } from "./model.ts";
import type { ComparedBlock, Comparison, Sources } from "./sources.ts";

/** The reason to read an escrow again: its copy differs from the contract. Stored with the request. */
export class CopyDiffersError extends Error {
  override readonly name = "CopyDiffersError";
}

/** Reads the copies to compare. */
export interface Copies {
  transaction(transactionId: string): Promise<TransactionRecord | null>;
  standing(wallet: string): Promise<StandingRecord | null>;
}

/** Dependencies of the differences. */
export interface DifferencesDeps {
  network: Network;
  differences: ReconciliationModels["differences"];
  copies: Copies;
  sources: Sources;
  rechecks: Pick<RecheckQueue, "request">;
  /** Copies the scores of wallets from the subgraph again. */
  syncScores: (wallets: readonly string[]) => Promise<void>;
  indexer: Pick<Indexer, "escrows" | "agents">;
  now: () => Date;
  /** Pause before a suspected difference is checked again, in milliseconds: a copy may only be late. */
  recheckAfterMs: number;
}

const RECHECK_MAX_MS = 3_600_000;
/** Maximum number of differences checked again in one run. */
const RECHECKS_PER_RUN = 200;

/** Tracks differences between copies and contracts, from the first suspicion until they are repaired. */
export class Differences {
  readonly #deps: DifferencesDeps;

  constructor(deps: DifferencesDeps) {
    this.#deps = deps;
  }

  /** Records suspected differences. Those that are already open don't change. */
  async suspect(found: readonly Comparison[]): Promise<void> {
    if (found.length === 0) return;
    const { network, differences, now } = this.#deps;
    const seenAt = now();
    const writes = found.map(({ kind, subject, fields }) => ({
      updateOne: {
        filter: { network, kind, subject, isOpen: true },
        update: {
          $setOnInsert: {
            _id: `${network}:${kind}:${subject}:${String(seenAt.getTime())}`,
            state: "suspected" as const,
            fields,
            looks: 1,
            checkAt: this.#nextCheck(1),
            seenAt,
            repairedAt: null,
          },
        },
        upsert: true,
      },
    }));
    try {
      await differences.bulkWrite(writes, { ordered: false });
    } catch (error) {
      // Another worker has stored the same difference concurrently.
      if (!isDuplicateKey(error)) throw error;
    }
  }

  /** Checks due differences again. A confirmed one is logged as an error, and its copy is read again. */
  async lookAgainAtDue(block: ComparedBlock, log: Logger, signal?: AbortSignal): Promise<void> {
    const { network, differences, now } = this.#deps;
    const due = await differences
      .find({ network, isOpen: true, checkAt: { $lte: now() } })
      .sort({ checkAt: 1 })
      .limit(RECHECKS_PER_RUN)
      .lean();
    for (const difference of due) {
      signal?.throwIfAborted();
      await this.#lookAgain(difference, block, log);
    }
  }

  #nextCheck(looks: number): Date {
    const { now, recheckAfterMs } = this.#deps;
    return new Date(now().getTime() + doubled(looks - 1, { minMs: recheckAfterMs, maxMs: RECHECK_MAX_MS }));
  }

  async #compareAgain({ kind, subject }: DifferenceRecord, block: ComparedBlock): Promise<Comparison | undefined> {
    const { copies, sources } = this.#deps;
    if (kind === "escrow") {
      const record = await copies.transaction(subject);
      return record === null ? undefined : (await sources.escrows([record], block))[0];
    }
    const record = await copies.standing(subject);
    return record === null ? undefined : (await sources.scores([record], block))[0];
  }

  /** The subgraph's values for the log, which show which side is wrong. */
  async #subgraphSide(kind: ComparedKind, subject: string): Promise<Record<string, unknown> | null> {
    const { copies, indexer } = this.#deps;
    if (kind === "score") {
      const { block, agents } = await indexer.agents([subject]);
      return { block: block.number, score: agents.get(subject)?.score ?? 0 };
    }
    const record = await copies.transaction(subject);
    if (record === null) return null;
    const { block, escrows } = await indexer.escrows([record.escrowId]);
    const {
      state = null,
      createdAt = null,
      deliveredAt = null,
      disputedAt = null,
    } = escrows.get(record.escrowId) ?? {};
    return { block: block.number, state, createdAt, deliveredAt, disputedAt };
  }

  /** Requests that the copy is read again. Safe to repeat. */
  async #repair({ kind, subject }: DifferenceRecord, fields: DifferenceRecord["fields"]): Promise<void> {
    const { network, copies, rechecks, syncScores, now } = this.#deps;
    if (kind === "score") {
      await syncScores([subject]);
      return;
    }
    const record = await copies.transaction(subject);
    if (record === null) return;
    const names = fields.map(({ field }) => field).join(", ");
    const reason = new CopyDiffersError(`The copy of ${subject} differs from the contract in: ${names}`);
    await rechecks.request(network, record.escrowId, reason, now());
  }

  async #lookAgain(difference: DifferenceRecord, block: ComparedBlock, log: Logger): Promise<void> {
    const { network, differences, now } = this.#deps;
    const { _id, kind, subject, state } = difference;
    const comparison = await this.#compareAgain(difference, block);
    const looks = difference.looks + 1;
    if (comparison?.isSkipped === true) {
      await differences.updateOne({ _id }, { $set: { checkAt: this.#nextCheck(1) } });
      return;
    }
    const fields = comparison?.fields ?? [];
    if (fields.length > 0) {
      const subgraph = await this.#subgraphSide(kind, subject);
      log.error({ network, kind, subject, block: block.number, fields, subgraph }, "a copy differs from its contract");
      await this.#repair(difference, fields);
      await differences.updateOne(
        { _id },
        { $set: { state: "found", fields, looks, checkAt: this.#nextCheck(looks) } },
      );
    } else if (state === "suspected") {
      await differences.deleteOne({ _id, state });
    } else {
      log.info({ network, kind, subject, block: block.number, looks }, "the copy equals its contract again");
      await differences.updateOne({ _id }, { $set: { state: "repaired", isOpen: false, repairedAt: now() } });
    }
  }
}
