import type { ClientSession, Connection, Model } from "mongoose";

import { collection, number, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";
import { ApiError } from "../../http/errors.ts";
import type { Moderation } from "./moderation.ts";
import { createAgentModels } from "./model.ts";

/** A seller's turn. Each new listing and each decision about its seller writes it, so of two at once one sees the other. */
const turnFields = {
  /** Agent id. */
  _id: text,
  /** Rises with every use. */
  turns: number,
};
type TurnModel = Model<RecordOf<typeof turnFields>>;

/** The parties of a new deal. */
export interface DealParties {
  buyerAgentId: string;
  sellerAgentId: string;
}

/** Keeps suspended agents from new deals, and their new listings out of sight. */
export interface TradeGate {
  /**
   * Requires both parties to be free to trade. A deal that has passed goes on, even if a decision follows before it is stored.
   * @throws ApiError `agent_suspended`
   */
  pass(parties: DealParties): Promise<void>;
  /** The decision in force about a seller, which nobody changes before the database transaction ends. */
  standing(agentId: string, session: ClientSession): Promise<Moderation | undefined>;
  /** Lets no listing of a seller be created before the database transaction ends. */
  takeTurn(agentId: string, session: ClientSession): Promise<void>;
}

function turnsModel(connection: Connection): TurnModel {
  return collection(connection, "SellerTurn", "seller_turns", turnFields);
}

/** The gate in the database. */
export function createTradeGate(connection: Connection): TradeGate {
  const { agents } = createAgentModels(connection);
  const turns = turnsModel(connection);

  async function takeTurn(agentId: string, session: ClientSession): Promise<void> {
    await turns.updateOne({ _id: agentId }, { $inc: { turns: 1 } }, { upsert: true, session });
  }

  return {
    async pass({ buyerAgentId, sellerAgentId }) {
      const isSuspended = { _id: { $in: [buyerAgentId, sellerAgentId] }, moderation: { $exists: true } };
      const found = await agents.find(isSuspended, { moderation: 1 }).lean();
      const own = found.find(({ _id }) => _id === buyerAgentId);
      const suspended = own ?? found[0];
      if (suspended === undefined) return;
      // Only the agent itself reads why.
      const { decisionId, reason, text: why } = own?.moderation ?? {};
      const details =
        own === undefined ? { role: "seller" as const } : { role: "buyer" as const, decisionId, reason, text: why };
      throw new ApiError("agent_suspended", { details });
    },

    async standing(agentId, session) {
      await takeTurn(agentId, session);
      return (await agents.findById(agentId, { moderation: 1 }, { session }).lean())?.moderation;
    },

    takeTurn,
  };
}
