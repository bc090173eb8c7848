import type { ClientSession, Connection } from "mongoose";

import type { KyaLevel } from "../../config/constants.ts";
import { isDuplicateKey, withTransaction } from "../../db/connection.ts";
import { ApiError } from "../../http/errors.ts";
import type { Operation } from "../../http/operation.ts";
import type { Clock } from "../../lib/clock.ts";
import type { AgentModels, AgentRecord } from "../agents/model.ts";
import type { KyaChangeRecord, KyaModels, KyaVerification } from "./model.ts";

/** Why an agent gets a level. */
export type KyaReason = Pick<KyaChangeRecord, "cause" | "reason" | "requestId"> & { verification?: KyaVerification };

/** The Know Your Agent levels of agents. */
export interface KyaLevels {
  readLevel(agentId: string): Promise<KyaLevel>;
  /** The level that an operation left, in this run or another one; undefined if it hasn't had its effect. */
  leftBy(operation: Operation, agentId: string): Promise<KyaLevel | undefined>;
  /**
   * Gives an agent at least this level, within a transaction; returns the level that it has then. A level never falls
   * by itself, and doesn't rise above the one to which an admin has lowered it.
   * @throws ApiError `not_found`
   */
  raise(
    agentId: string,
    level: KyaLevel,
    why: KyaReason,
    within: { operation: Operation; session: ClientSession },
  ): Promise<KyaLevel>;
  /**
   * Sets any level, which only an admin does. A lower level is a ceiling until an admin sets a higher one. A repeat of the
   * operation changes nothing.
   * @throws ApiError `not_found`
   */
  set(agentId: string, level: KyaLevel, why: KyaReason, operation: Operation): Promise<void>;
}

/** Dependencies of the levels. */
export interface KyaLevelsDeps {
  connection: Connection;
  agents: AgentModels["agents"];
  changes: KyaModels["changes"];
  clock: Clock;
}

/** A change of a level: as an update of the database, and as what it makes of a record. */
interface Change {
  update: { $set: Record<string, unknown> };
  resultOf: (before: Pick<AgentRecord, "kyaLevel" | "kyaCeiling">) => KyaLevel;
}

/** `$min` passes over a missing ceiling. */
const raisedTo = (level: KyaLevel): Change => ({
  update: { $set: { kyaLevel: { $max: ["$kyaLevel", { $min: [level, "$kyaCeiling"] }] } } },
  resultOf: ({ kyaLevel, kyaCeiling = level }) => Math.max(kyaLevel, Math.min(level, kyaCeiling)) as KyaLevel,
});

const setTo = (level: KyaLevel): Change => {
  const branches = [
    { case: { $lt: [level, "$kyaLevel"] }, then: level },
    { case: { $gt: [level, "$kyaLevel"] }, then: "$$REMOVE" },
  ];
  return {
    update: { $set: { kyaLevel: level, kyaCeiling: { $switch: { branches, default: "$kyaCeiling" } } } },
    resultOf: () => level,
  };
};

/** Levels on the agents' records, with a log of every decision. */
export function createKyaLevels({ connection, agents, changes, clock }: KyaLevelsDeps): KyaLevels {
  async function change(
    agentId: string,
    { update, resultOf }: Change,
    why: KyaReason,
    { operation, session }: { operation: Operation; session: ClientSession },
  ): Promise<KyaLevel> {
    // The update locks the record until the transaction ends, so that `from` is what `to` replaces.
    const options = { session, updatePipeline: true } as const;
    const before = await agents.findOneAndUpdate({ _id: agentId }, [update], options).lean();
    if (before === null) throw new ApiError("not_found", { details: { agentId } });
    const from = before.kyaLevel;
    const to = resultOf(before);
    const at = clock.now();
    const _id = operation.newId("kya", at);
    await changes.create([{ _id, agentId, from, to, verification: null, ...why, at }], { session });
    return to;
  }

  async function leftBy(operation: Operation, agentId: string): Promise<KyaLevel | undefined> {
    if (!operation.isRepeatable) return undefined;
    const made = await changes.findOne({ _id: operation.newId("kya", clock.now()), agentId }, { to: 1 }).lean();
    return made?.to;
  }

  return {
    async readLevel(agentId) {
      const agent = await agents.findById(agentId, { kyaLevel: 1 }).lean();
      return agent?.kyaLevel ?? 0;
    },
    leftBy,
    raise: (agentId, level, why, within) => change(agentId, raisedTo(level), why, within),
    async set(agentId, level, why, operation) {
      if ((await leftBy(operation, agentId)) !== undefined) return;
      try {
        await withTransaction(connection, (session) => change(agentId, setTo(level), why, { operation, session }));
      } catch (error) {
        // A repeat of this request has been faster.
        if (!isDuplicateKey(error)) throw error;
      }
    },
  };
}
