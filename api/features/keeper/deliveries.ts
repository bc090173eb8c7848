import type { Connection } from "mongoose";
import type { Hex } from "viem";

import { byChainClock } from "../../chain/chain-time.ts";
import { PAYLOAD_GRACE_SECONDS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { withTransaction } from "../../db/connection.ts";
import { toUnixSeconds } from "../../lib/clock.ts";
import type { EventRecorder } from "../events/recorder.ts";
import { announceOverdue } from "../transactions/announce.ts";
import { handoverEnd } from "../transactions/deadlines.ts";
import type { TransactionModel, TransactionRecord } from "../transactions/model.ts";
import type { ChainProgress } from "../transactions/ports.ts";

/** Deals of one page. */
const PAGE = 500;
/** Deals whose buyers are notified in one step. */
const TOLD = 100;
/** A payload that arrives in the last second must be stored before its absence is announced. */
const TELLING_MARGIN_SECONDS = 10;

/** Dependencies of a network's deliveries. */
export interface DeliveriesDeps {
  network: Network;
  connection: Connection;
  transactions: TransactionModel;
  recorder: Pick<EventRecorder, "record">;
  progress: Pick<ChainProgress, "appliedDelivery">;
  now: () => Date;
}

type Delivered = Pick<TransactionRecord, "_id" | "escrowId" | "escrow" | "payloadReceivedAt">;

/** The end of a page of deals. */
interface Place {
  windowEnd: number;
  id: string;
}

/**
 * The handover of a delivery's payload: in time, missed, or `open` while it may still come in time.
 * @param now by the clock that payloads are dated by
 */
export function handoverOf(
  { escrow, payloadReceivedAt }: Pick<TransactionRecord, "escrow" | "payloadReceivedAt">,
  now: Date,
): "in_time" | "missed" | "open" {
  const end = handoverEnd({ escrow });
  if (payloadReceivedAt !== null) return toUnixSeconds(payloadReceivedAt) <= end ? "in_time" : "missed";
  return toUnixSeconds(now) > end + TELLING_MARGIN_SECONDS ? "missed" : "open";
}

/** The delivered escrows of one network: those to finalize, and those that are left to their parties. */
export function createDeliveries({ network, connection, transactions, recorder, progress, now }: DeliveriesDeps) {
  const delivered = { network, status: "delivered", buyerNotifiedAt: null } as const;

  /**
   * Leaves an escrow to its parties and tells the buyer, who may dispute the delivery while the window is open.
   * @returns false if it was notified before, or has moved on
   */
  async function notifyBuyer({ _id, escrowId, escrow, payloadReceivedAt }: Delivered, at: Date): Promise<boolean> {
    const deliveredAt = escrow?.deliveredAt ?? null;
    if (deliveredAt === null) return false;
    return withTransaction(connection, async (session) => {
      const record = await transactions
        .findOneAndUpdate(
          { _id, escrowId, ...delivered, payloadReceivedAt, "escrow.deliveredAt": deliveredAt },
          { $set: { buyerNotifiedAt: deliveredAt } },
          { session, returnDocument: "after" },
        )
        .lean();
      if (record === null) return false;
      const delivery = await progress.appliedDelivery(network, record.escrowId, session);
      await recorder.record([announceOverdue(record, delivery?.incarnation ?? 0, at)], session);
      return true;
    });
  }

  async function notifyAll(deals: readonly Delivered[], at: Date): Promise<number> {
    let notified = 0;
    for (const deal of deals) {
      if (handoverOf(deal, at) === "missed" && (await notifyBuyer(deal, at))) notified += 1;
    }
    return notified;
  }

  return {
    /**
     * Tells the buyers of deliveries without a payload that it is overdue.
     * @param chainNow unix seconds of the latest block
     * @returns how many were notified
     */
    async notifyOverdue(chainNow: number): Promise<number> {
      const at = byChainClock(now(), chainNow);
      const latest = Math.min(chainNow, toUnixSeconds(at));
      const end = latest - PAYLOAD_GRACE_SECONDS - TELLING_MARGIN_SECONDS;
      const found = await transactions
        .find({ ...delivered, payloadReceivedAt: null, "escrow.deliveredAt": { $lt: end } })
        .sort({ "escrow.deliveredAt": 1 })
        .limit(TOLD)
        .lean();
      return notifyAll(found, at);
    },

    /**
     * The escrows whose dispute window is over and whose payload was handed over in time, page by page. The buyers of
     * the others are notified.
     * @param chainNow unix seconds of the latest block
     */
    async *finalizable(chainNow: number): AsyncGenerator<{ escrowIds: Hex[]; notified: number }> {
      const at = byChainClock(now(), chainNow);
      let after: Place | undefined;
      for (;;) {
        const page = await transactions
          .find({ ...delivered, ...placesAfter(after, chainNow) })
          .sort({ "escrow.windowEnd": 1, _id: 1 })
          .limit(PAGE)
          .lean();
        const notified = await notifyAll(page, at);
        const inTime = page.filter((deal) => handoverOf(deal, at) === "in_time");
        yield { escrowIds: inTime.map(({ escrowId }) => escrowId), notified };
        const last = page.at(-1);
        if (last === undefined || page.length < PAGE) return;
        after = { windowEnd: last.escrow?.windowEnd ?? 0, id: last._id };
      }
    },
  };
}

/** Window ends before the chain's time, after a place in their order. */
function placesAfter(after: Place | undefined, chainNow: number) {
  if (after === undefined) return { "escrow.windowEnd": { $lt: chainNow } };
  return {
    $or: [
      { "escrow.windowEnd": after.windowEnd, _id: { $gt: after.id } },
      { "escrow.windowEnd": { $gt: after.windowEnd, $lt: chainNow } },
    ],
  };
}
