import type { ClientSession, Connection, Model } from "mongoose";

import { collection, number, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";
import { ApiError } from "../../http/errors.ts";
import type { Moderation } from "./moderation.ts";
import { createAgentModels } from "./model.ts";

/** A turn of an agent, `<agent id>:<slot>`. Each new deal writes one of its parties, so of deal and suspension one sees the other. */
const turnFields = {
  _id: text,
  /** Rises with every use. */
  turns: number,
};
type TurnModel = Model<RecordOf<typeof turnFields>>;

/** Turns of an agent. A new deal takes any of them, so that a busy seller's deals rarely wait for each other; a decision takes all. */
const SLOTS = 8;

/** The parties of a new deal. */
export interface DealParties {
  buyerAgentId: string;
  sellerAgentId: string;
}

/** Keeps suspended agents from new deals. */
export interface TradeGate {
  /**
   * Requires both parties to be free to trade. With a session, a decision about either waits for that transaction, or ends it.
   * @throws ApiError `agent_suspended`
   */
  pass(parties: DealParties, session?: ClientSession): Promise<void>;
  /** The decision in force about an agent, which nobody changes before the transaction ends. */
  standing(agentId: string, session: ClientSession): Promise<Moderation | undefined>;
  /** Makes a decision about an agent conflict with everything that took one of its turns. */
  takeAllTurns(agentId: string, session: ClientSession): Promise<void>;
}

function turnsModel(connection: Connection): TurnModel {
  return collection(connection, "TradeTurn", "trade_turns", turnFields);
}

const taking = (_id: string) => ({
  updateOne: { filter: { _id }, update: { $inc: { turns: 1 } }, upsert: true },
});

/** The gate in the database. */
export function createTradeGate(connection: Connection): TradeGate {
  const { agents } = createAgentModels(connection);
  const turns = turnsModel(connection);

  async function takeTurn(agentIds: readonly string[], session: ClientSession): Promise<void> {
    // In one order, so that two deals of the same parties don't take each other's.
    const slots = agentIds.toSorted().map((agentId) => `${agentId}:${Math.floor(Math.random() * SLOTS)}`);
    await turns.bulkWrite(slots.map(taking), { session });
  }

  return {
    async pass({ buyerAgentId, sellerAgentId }, session) {
      if (session !== undefined) await takeTurn([buyerAgentId, sellerAgentId], session);
      const isSuspended = { _id: { $in: [buyerAgentId, sellerAgentId] }, moderation: { $exists: true } };
      const found = await agents.find(isSuspended, { moderation: 1 }, { session: session ?? null }).lean();
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
      await takeTurn([agentId], session);
      return (await agents.findById(agentId, { moderation: 1 }, { session }).lean())?.moderation;
    },

    async takeAllTurns(agentId, session) {
      const slots = Array.from({ length: SLOTS }, (_, slot) => `${agentId}:${slot}`);
      await turns.bulkWrite(slots.map(taking), { session });
    },
  };
}
