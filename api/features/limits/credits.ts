import type { ClientSession } from "mongoose";

import type { CallClass } from "../../config/constants.ts";
import type { AccessModels } from "./access-model.ts";

/** Adds prepaid calls to an agent. */
export type Credit = (agentId: string, kind: CallClass, calls: number, session: ClientSession) => Promise<void>;

/**
 * Credits prepaid calls in the caller's transaction.
 * @throws Error if the agent has no access record, so that the transaction aborts
 */
export function createCredits({ access }: Pick<AccessModels, "access">): Credit {
  return async (agentId, kind, calls, session) => {
    const change = { $inc: { [`prepaid.${kind}`]: calls } };
    // By the driver, because the Mongoose schema declares only some of the record's fields.
    const { matchedCount } = await access.collection.updateOne({ _id: agentId as never }, change, { session });
    if (matchedCount !== 1) throw new Error(`${agentId} has no access record`);
  };
}
