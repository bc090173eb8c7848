import type { ClientSession, Connection } from "mongoose";

import type { KyaLevel } from "../../config/constants.ts";
import { withTransaction } from "../../db/connection.ts";
import { ApiError } from "../../http/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { newId } from "../../lib/ids.ts";
import type { AgentModels } from "../agents/model.ts";
import type { KyaChangeRecord, KyaModels, KyaVerification } from "./model.ts";

/** Why an agent gets a level. */
export type KyaReason = Pick<KyaChangeRecord, "cause" | "reason" | "requestId"> & { verification?: KyaVerification };

/** The Know Your Agent levels of agents (specification 2.8, decision 32). */
export interface KyaLevels {
  levelOf(agentId: string): Promise<KyaLevel>;
  /**
   * Gives an agent at least this level, within a transaction; returns the level that it has then. A level never falls
   * by itself.
   * @throws ApiError `not_found`
   */
  raise(agentId: string, level: KyaLevel, why: KyaReason, session: ClientSession): Promise<KyaLevel>;
  /** Sets any level, which only an admin does. @throws ApiError `not_found` */
  set(agentId: string, level: KyaLevel, why: KyaReason): Promise<void>;
}

/** Dependencies of the levels. */
export interface KyaLevelsDeps {
  connection: Connection;
  agents: AgentModels["agents"];
  changes: KyaModels["changes"];
  clock: Clock;
}

/** Levels on the agents' records, with a log of every decision. */
export function createKyaLevels({ connection, agents, changes, clock }: KyaLevelsDeps): KyaLevels {
  async function change(
    agentId: string,
    update: { $max: { kyaLevel: KyaLevel } } | { $set: { kyaLevel: KyaLevel } },
    why: KyaReason,
    session: ClientSession,
  ): Promise<KyaLevel> {
    // The update locks the record until the transaction ends, so that `from` is what `to` replaces.
    const before = await agents.findOneAndUpdate({ _id: agentId }, update, { session, lean: true });
    if (before === null) throw new ApiError("not_found", { details: { agentId } });
    const from = before.kyaLevel;
    const to = "$set" in update ? update.$set.kyaLevel : (Math.max(from, update.$max.kyaLevel) as KyaLevel);
    const at = clock.now();
    await changes.create([{ _id: newId("kya", at), agentId, from, to, verification: null, ...why, at }], { session });
    return to;
  }

  return {
    async levelOf(agentId) {
      const agent = await agents.findById(agentId, { kyaLevel: 1 }).lean();
      return agent?.kyaLevel ?? 0;
    },
    raise: (agentId, level, why, session) => change(agentId, { $max: { kyaLevel: level } }, why, session),
    async set(agentId, level, why) {
      await withTransaction(connection, (session) => change(agentId, { $set: { kyaLevel: level } }, why, session));
    },
  };
}
