import type { ClientSession, Connection } from "mongoose";
import type { z } from "zod";

import { withTransaction } from "../../db/connection.ts";
import { readPage } from "../../db/pages.ts";
import { ApiError } from "../../http/errors.ts";
import type { Operation } from "../../http/operation.ts";
import type { Clock } from "../../lib/clock.ts";
import type { TradeGate } from "../agents/trade-gate.ts";
import type { Announcement, EventRecorder } from "../events/recorder.ts";
import type { appealBody } from "./appeal-schemas.ts";
import { BY_AGENT, BY_PLACE } from "./model.ts";
import type { AppealModel, AppealRecord, DecisionCase, DecisionModel, DecisionRecord } from "./model.ts";
import { placeOf, readQueue } from "./queue.ts";
import type { QueuePage } from "./queue.ts";
import { findSubject } from "./subjects.ts";
import type { SubjectModels } from "./subjects.ts";

/** Dependencies of the appeals. */
export interface AppealDeps extends SubjectModels {
  connection: Connection;
  decisions: DecisionModel;
  appeals: AppealModel;
  gate: Pick<TradeGate, "takeTurn">;
  recorder: Pick<EventRecorder, "record">;
  clock: Clock;
}

function announcementOf({ _id, agentId, subjectId, state, answer }: AppealRecord, occurredAt: Date): Announcement {
  return {
    type: "appeal.answered",
    record: { recordId: _id, transactionId: null, orderKey: subjectId },
    body: { event: "appeal.answered", decisionId: _id, state, answer, at: occurredAt.toISOString() },
    incarnation: 0,
    recipients: [agentId],
    targets: [],
    occurredAt,
  };
}

const byId = <R extends { _id: string }>(records: readonly R[]) => new Map(records.map((one) => [one._id, one]));

/** What agents say against decisions about them: one appeal a decision. */
export class Appeals {
  readonly #deps: AppealDeps;

  constructor(deps: AppealDeps) {
    this.#deps = deps;
  }

  /**
   * Stores the appeal of a decision in force. It conflicts in the database with a decision about the same agent at the same
   * time, so no open appeal is left behind by a restoration.
   * @throws ApiError `not_found`, `already_appealed`, `decision_not_in_force`
   */
  async lodge(
    agentId: string,
    { decisionId, text }: z.output<typeof appealBody>,
    operation: Operation,
  ): Promise<AppealRecord> {
    const { connection, decisions, appeals, gate, clock } = this.#deps;
    return withTransaction(connection, async (session) => {
      const decision = await decisions.findById(decisionId, null, { session }).lean();
      if (decision?.agentId !== agentId) throw new ApiError("not_found", { details: { decisionId } });
      const lodged = await appeals.findById(decisionId, null, { session }).lean();
      if (lodged !== null && operation.isRepeat && lodged.text === text) return lodged;
      if (lodged !== null) throw new ApiError("already_appealed");
      await gate.takeTurn(agentId, session);
      const { inForce } = await findSubject(this.#deps, decision, session);
      if (inForce !== decisionId) throw new ApiError("decision_not_in_force");
      const appeal: AppealRecord = {
        _id: decisionId,
        agentId,
        subjectId: decision.subjectId,
        text,
        state: "open",
        place: placeOf(decisionId, true),
        answer: null,
        at: clock.now(),
        answeredAt: null,
      };
      await appeals.create([appeal], { session });
      return appeal;
    });
  }

  /**
   * Rejects an open appeal, with the event for the agent.
   * @throws ApiError `not_found`, `appeal_not_open`
   */
  async reject(decisionId: string, answer: string, operation: Operation): Promise<AppealRecord> {
    const { connection, appeals, clock } = this.#deps;
    return withTransaction(connection, async (session) => {
      const rejected = await this.#answer({ _id: decisionId, state: "rejected", answer, at: clock.now() }, session);
      if (rejected !== null) return rejected;
      const appeal = await appeals.findById(decisionId, null, { session }).lean();
      if (appeal === null) throw new ApiError("not_found", { details: { decisionId } });
      if (operation.isRepeat && appeal.state === "rejected" && appeal.answer === answer) return appeal;
      throw new ApiError("appeal_not_open", { details: { state: appeal.state } });
    });
  }

  /** Grants the open appeal of the decision that a restoration ends, in its database transaction. */
  async grant({ ends, text: answer, at }: DecisionRecord, session: ClientSession): Promise<void> {
    if (ends !== null) await this.#answer({ _id: ends, state: "granted", answer, at }, session);
  }

  /** The appeals, open ones first, with their decisions. */
  async list(page: QueuePage) {
    const { appeals, decisions } = this.#deps;
    const { records, next } = await readQueue(appeals, {}, { ...page, hint: BY_PLACE });
    const found = byId(await decisions.find({ _id: { $in: records.map(({ _id }) => _id) } }).lean());
    const items = records.flatMap((appeal) => {
      const decision = found.get(appeal._id);
      return decision === undefined ? [] : [{ appeal, decision }];
    });
    return { items, next };
  }

  /** The decisions that hid something of an agent or suspended it, the newest first. */
  async casesOf(agentId: string, { after, limit }: { after: string | undefined; limit: number }) {
    const { appeals, decisions } = this.#deps;
    const filter = {
      agentId,
      action: { $in: ["hide" as const, "suspend" as const] },
      ...(after === undefined ? {} : { _id: { $lt: after } }),
    };
    const { records, next } = await readPage(decisions, filter, { sort: { _id: -1 }, limit, hint: BY_AGENT });
    const ids = records.map(({ _id }) => _id);
    const [restorations, lodged] = await Promise.all([
      decisions.find({ ends: { $in: ids } }).lean(),
      appeals.find({ _id: { $in: ids } }).lean(),
    ]);
    const ended = new Map(restorations.map((restoration) => [restoration.ends, restoration]));
    const appealed = byId(lodged);
    const items = records.map((decision): DecisionCase => {
      return { decision, restoration: ended.get(decision._id), appeal: appealed.get(decision._id) };
    });
    return { items, next };
  }

  /** Answers an appeal, with the event for the agent; null if none is open. */
  async #answer(
    { _id, state, answer, at }: Pick<AppealRecord, "_id" | "state" | "at"> & { answer: string },
    session: ClientSession,
  ): Promise<AppealRecord | null> {
    const { appeals, recorder } = this.#deps;
    const change = { state, answer, answeredAt: at, place: placeOf(_id, false) };
    const answered = await appeals
      .findOneAndUpdate({ _id, state: "open" }, { $set: change }, { returnDocument: "after", session })
      .lean();
    if (answered !== null) await recorder.record([announcementOf(answered, at)], session);
    return answered;
  }
}
