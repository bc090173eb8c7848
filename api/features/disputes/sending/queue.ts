import type { ClientSession } from "mongoose";

import { queuedFields } from "../../../chain/sending/record.ts";
import type { SendingState } from "../../../chain/sending/record.ts";
import type { Ruling, RulingTransactionModel } from "./model.ts";

/** The queue of rulings. */
export function createRulingQueue(model: RulingTransactionModel, now: () => Date) {
  /** Fields of a ruling. */
  const rulingFields = ({ network, escrowId, role, outcome, buyerPercent, rationaleHash }: Ruling) => ({
    network,
    role,
    outcome,
    buyerPercent,
    rationaleHash,
    escrowId: escrowId.toLowerCase() as `0x${string}`,
  });

  return {
    /** @returns false if the dispute has a ruling */
    async insert(ruling: Ruling, session: ClientSession): Promise<boolean> {
      const { upsertedCount } = await model.updateOne(
        { _id: ruling.disputeId },
        { $setOnInsert: { ...rulingFields(ruling), ...queuedFields(now()) } },
        { upsert: true, session },
      );
      return upsertedCount === 1;
    },

    /** @returns false unless the dispute has a ruling by the system that can't be mined */
    async replace(ruling: Ruling, session: ClientSession): Promise<boolean> {
      const replaceable = {
        _id: ruling.disputeId,

        network: ruling.network,
        escrowId: ruling.escrowId.toLowerCase() as `0x${string}`,
        role: "system" as const,
        state: { $in: ["queued", "held"] as SendingState[] },
        inFlight: false,
      };
      const { state, problem, detail, since, queuedAt, dueAt, failures } = queuedFields(now());
      const fresh = { ...rulingFields(ruling), state, problem, detail, since, queuedAt, dueAt, failures };
      const change = { $set: fresh, $inc: { version: 1 } };
      return (await model.updateOne(replaceable, change, { session })).matchedCount === 1;
    },

    findMany: (disputeIds: readonly string[]) => model.find({ _id: { $in: [...disputeIds] } }).lean(),
  };
}
