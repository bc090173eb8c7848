import type { ChainClient } from "../../chain/chain-client.ts";
import type { Network } from "../../config/constants.ts";
import type { StandingRecord } from "../agents/model.ts";
import type { RecheckQueue } from "../chain-follower/recheck-queue.ts";
import type { TransactionRecord } from "../transactions/model.ts";
import { escrowDifferences, scoreDifferences } from "./compare.ts";
import type { ComparedKind, FieldDifference } from "./model.ts";

/** Maximum age, in blocks, of a state to read: not every server keeps more than 128 blocks. */
export const OLDEST_STATE_BLOCKS = 100;

/** The block at which copies are compared. */
export interface ComparedBlock {
  /** The last block that the follower has applied. */
  number: number;
  /** The chain's head. */
  head: number;
}

/** The comparison of a copy with its contract. Skipped if the copy is newer than the block, or waits to be read again. */
export interface Comparison {
  kind: ComparedKind;
  subject: string;
  fields: FieldDifference[];
  isSkipped: boolean;
}

/** Dependencies of the comparisons. */
export interface SourcesDeps {
  network: Network;
  chain: Pick<ChainClient, "escrowAt" | "scoreAt">;
  rechecks: Pick<RecheckQueue, "waiting">;
}

/** Compares copies with the contracts. Copies must be read after the block was determined. */
export function createSources({ network, chain, rechecks }: SourcesDeps) {
  return {
    async escrows(records: readonly TransactionRecord[], block: ComparedBlock): Promise<Comparison[]> {
      const waiting = await rechecks.waiting(
        network,
        records.map(({ escrowId }) => escrowId),
      );
      const escrows = await Promise.all(records.map(({ escrowId }) => chain.escrowAt(escrowId, block.number)));
      return records.map((record, index) => {
        const isNewer = record.escrow !== null && record.escrow.updatedBlock > block.number;
        const isSkipped = isNewer || waiting.has(record.escrowId);
        const fields = isSkipped ? [] : escrowDifferences(record, escrows[index] ?? null);
        return { kind: "escrow", subject: record._id, fields, isSkipped };
      });
    },

    async scores(records: readonly StandingRecord[], block: ComparedBlock): Promise<Comparison[]> {
      // A recent copy may be ahead of the follower, so it is compared at its own block.
      const blockOf = ({ indexedBlock }: StandingRecord) =>
        indexedBlock > block.head - OLDEST_STATE_BLOCKS ? indexedBlock : block.number;
      const readable = records.filter((record) => blockOf(record) <= block.head);
      const scores = await Promise.all(
        readable.map((record) => chain.scoreAt(record.walletKey as `0x${string}`, blockOf(record))),
      );
      const known = new Map(readable.map((record, index) => [record._id, scores[index]]));
      return records.map((record) => {
        const score = known.get(record._id);
        const fields = score === undefined ? [] : scoreDifferences(record.score, score);
        return { kind: "score", subject: record.walletKey, fields, isSkipped: score === undefined };
      });
    },
  };
}

export type Sources = ReturnType<typeof createSources>;
