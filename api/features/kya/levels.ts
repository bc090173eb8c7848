import type { ClientSession, Connection } from "mongoose";

import type { KyaLevel } from "../../config/constants.ts";
import { withTransaction } from "../../db/connection.ts";
import { ApiError } from "../../http/errors.ts";
import type { Operation } from "../../http/operation.ts";
import type { Clock } from "../../lib/clock.ts";
import type { AgentModels } from "../agents/model.ts";
import type { KyaChangeRecord, KyaModels, KyaVerification } from "./model.ts";

/** Why an agent gets a level. */
export type KyaReason = Pick<KyaChangeRecord, "cause" | "reason" | "requestId"> & { verification?: KyaVerification };

/** The Know Your Agent levels of agents (specification 2.8, decision 32). */
export interface KyaLevels {
  levelOf(agentId: string): Promise<KyaLevel>;
  /** The level that an operation left when it ran earlier; undefined if it hasn't had its effect. */
  leftBy(operation: Operation, agentId: string): Promise<KyaLevel | undefined>;
  /**
   * Gives an agent at least this level, within a transaction; returns the level that it has then. A level never falls
   * by itself.
   * @throws ApiError `not_found`
   */
  raise(
    agentId: string,
    level: KyaLevel,
    why: KyaReason,
    within: { operation: Operation; session: ClientSession },
  ): Promise<KyaLevel>;
  /** Sets any level, which only an admin does. A repeat of the operation changes nothing. @throws ApiError `not_found` */
  set(agentId: string, level: KyaLevel, why: KyaReason, operation: Operation): Promise<void>;
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
    { operation, session }: { operation: Operation; session: ClientSession },
  ): Promise<KyaLevel> {
    // The update locks the record until the transaction ends, so that `from` is what `to` replaces.
    const before = await agents.findOneAndUpdate({ _id: agentId }, update, { session, lean: true });
    if (before === null) throw new ApiError("not_found", { details: { agentId } });
    const from = before.kyaLevel;
    const to = "$set" in update ? update.$set.kyaLevel : (Math.max(from, update.$max.kyaLevel) as KyaLevel);
    const at = clock.now();
    const _id = operation.newId("kya", at);
    await changes.create([{ _id, agentId, from, to, verification: null, ...why, at }], { session });
    return to;
  }

  async function leftBy(operation: Operation, agentId: string): Promise<KyaLevel | undefined> {
    if (!operation.isRepeat) return undefined;
    const made = await changes.findOne({ _id: operation.newId("kya", clock.now()), agentId }, { to: 1 }).lean();
    return made?.to;
  }

  return {
    async levelOf(agentId) {
      const agent = await agents.findById(agentId, { kyaLevel: 1 }).lean();
      return agent?.kyaLevel ?? 0;
    },
    leftBy,
    raise: (agentId, level, why, within) => change(agentId, { $max: { kyaLevel: level } }, why, within),
    async set(agentId, level, why, operation) {
      if ((await leftBy(operation, agentId)) !== undefined) return;
      await withTransaction(connection, (session) =>
        change(agentId, { $set: { kyaLevel: level } }, why, { operation, session }),
      );
    },
  };
}
