import { Types } from "mongoose";
import type { ClientSession, PipelineStage } from "mongoose";

import { withTransaction } from "../../db/connection.ts";
import { isScheduled, released } from "../../db/leases.ts";
import { BY_ID } from "../../db/plain-writes.ts";
import type { DispatchRecord, OutboxModels } from "./model.ts";

/** The fields that place a dispatch in its chain. */
export type ChainLink = Pick<DispatchRecord, "_id" | "durable" | "webhookId" | "orderKey" | "seq">;

/**
 * Chains of durable dispatches: those of one registration with one `orderKey`, in the order of their events. Only the first
 * of a chain is scheduled. The others have no date and cost their lane nothing, however many they are. All are scheduled
 * when recorded, because recording must not cause conflicts; a turn that finds one behind an earlier one makes it wait.
 * Making others wait writes to the first dispatch, and so does its end. The two writes conflict, so none waits for an ended
 * dispatch.
 */
export interface Chains {
  /** Makes the given dispatches that aren't first in their chains wait. Returns true if there were any: others may be due. */
  hold(links: readonly ChainLink[]): Promise<boolean>;
  /**
   * Updates a dispatch of a chain. If that ends it, the next one is due immediately, in the same transaction. Returns null if
   * the filter, which contains the ids of the dispatch and its agent, doesn't match.
   */
  update(
    filter: Record<string, unknown>,
    change: PipelineStage.AddFields[] | PipelineStage.Set[],
  ): Promise<DispatchRecord | null>;
}

/** Whether a dispatch is sent in the order of its chain. */
export function isChained({ durable, webhookId, orderKey }: ChainLink): boolean {
  return durable && webhookId !== null && orderKey !== null;
}

/** Maximum number of dispatches made to wait in one transaction. */
const HELD_AT_ONCE = 1_000;

/** Selects the pending dispatches of a chain. An index has them in order. */
export function chainFilter({ webhookId, orderKey }: Pick<ChainLink, "webhookId" | "orderKey">) {
  return { webhookId, orderKey, status: "pending" as const, durable: true };
}

/** Selects the scheduled dispatches of a chain after its first one. Another index has them by date. */
export function scheduledBehind(first: Pick<ChainLink, "webhookId" | "orderKey" | "seq">) {
  return { ...chainFilter(first), ...isScheduled("dueAt"), seq: { $gt: first.seq } };
}

/** The chains stored in the collections of the outbox. */
export function createChains({ dispatches, arrivals }: OutboxModels): Chains {
  const { db: connection } = dispatches;

  function readFirst(link: ChainLink): Promise<ChainLink | null> {
    return dispatches.findOne(chainFilter(link)).sort({ seq: 1 }).lean();
  }

  /** Makes the scheduled dispatches after the first one of a chain wait for it. */
  function holdBehind(first: ChainLink): Promise<void> {
    return withTransaction(connection, async (session) => {
      const touched = await dispatches.updateOne(
        { _id: first._id, status: "pending" },
        // An unscheduled first dispatch would never be sent.
        [{ $set: { waits: { $add: [{ $ifNull: ["$waits", 0] }, 1] }, dueAt: { $ifNull: ["$dueAt", "$$NOW"] } } }],
        { session, updatePipeline: true },
      );
      // The first dispatch has ended since, and the next one isn't known yet.
      if (touched.matchedCount === 0) return;
      const behind = await dispatches
        .find(scheduledBehind(first), { _id: 1 }, { session })
        .sort({ dueAt: 1 })
        .limit(HELD_AT_ONCE)
        .lean();
      const ids = behind.map(({ _id }) => _id);
      await dispatches.updateMany({ _id: { $in: ids } }, { $set: { dueAt: null } }, { session });
    });
  }

  async function releaseNext(ended: DispatchRecord, session: ClientSession): Promise<void> {
    const next = await dispatches
      .findOne(chainFilter(ended), { _id: 1, dueAt: 1 }, { session })
      .sort({ seq: 1 })
      .lean();
    if (next === null || next.dueAt !== null) return;
    await dispatches.updateOne({ _id: next._id }, released("dueAt"), { session, updatePipeline: true });
    // The turn that ended the previous dispatch may have lost its lane since.
    await arrivals.collection.insertOne({ _id: new Types.ObjectId(), agentId: ended.agentId }, { session });
  }

  return {
    async hold(links) {
      const chained = new Map(links.filter(isChained).map((link) => [`${link.webhookId} ${link.orderKey}`, link]));
      const firsts = await Promise.all([...chained.values()].map(readFirst));
      const blocking = firsts.flatMap((first) => {
        const isBehind = (link: ChainLink) =>
          link.webhookId === first?.webhookId && link.orderKey === first.orderKey && link.seq > first.seq;
        return first !== null && links.some(isBehind) ? [first] : [];
      });
      await Promise.all(blocking.map(holdBehind));
      return blocking.length > 0;
    },

    update(filter, change) {
      return withTransaction(connection, async (session) => {
        const updated = await dispatches
          .findOneAndUpdate(filter, change, { session, returnDocument: "after", updatePipeline: true, hint: BY_ID })
          .lean();
        if (updated !== null && updated.status !== "pending") await releaseNext(updated, session);
        return updated;
      });
    },
  };
}
