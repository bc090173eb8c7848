import type { Network } from "../../config/constants.ts";
import { isReadable } from "../../indexer/schemas.ts";
import type { ReadEvent } from "../../indexer/schemas.ts";
import type { TransactionModel } from "../transactions/model.ts";

/** Maximum number of moves that one database transaction applies. */
export const BATCH_MOVES = 200;
/** Maximum number of bytes that one database transaction is expected to write. */
export const BATCH_BYTES = 8 * 1024 * 1024;

/** Splits items in order into batches of limited count and weight. A heavier item is a batch of its own. */
export function toBatches<T>(items: readonly T[], bytesOf: (item: T) => number): T[][] {
  const batches: T[][] = [];
  let batch: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const weight = bytesOf(item);
    if (batch.length > 0 && (batch.length === BATCH_MOVES || bytes + weight > BATCH_BYTES)) {
      batches.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += weight;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

/** Moves whose event contains the deal's whole payload. The log has it, and dispatches have no body of their own. */
const CARRIES_PAYLOAD: ReadonlySet<string> = new Set(["EscrowCreated", "DeliverySubmitted"]);
/** How many times such a payload is read and written: the record and the recipient's log. */
const PAYLOAD_COPIES = 2;
/** Bytes for a move without a stored transaction. */
const PLAIN_MOVE_BYTES = 4_096;

/** How many bytes are read and written to apply a page's events, estimated from their stored records. */
export async function readPayloadSizes(transactions: TransactionModel, network: Network, events: readonly ReadEvent[]) {
  const escrowIds = [...new Set(events.map(({ escrowId }) => escrowId))];
  const found =
    escrowIds.length === 0
      ? []
      : await transactions.aggregate<{ escrowId: string; bytes: number }>([
          { $match: { network, escrowId: { $in: escrowIds } } },
          { $project: { _id: 0, escrowId: 1, bytes: { $bsonSize: "$$ROOT" } } },
        ]);
  const sizes = new Map(found.map(({ escrowId, bytes }) => [escrowId, bytes]));
  return {
    weightOf(event: ReadEvent): number {
      const bytes = sizes.get(event.escrowId) ?? PLAIN_MOVE_BYTES;
      return isReadable(event) && CARRIES_PAYLOAD.has(event.type) ? bytes * PAYLOAD_COPIES : bytes;
    },
  };
}
