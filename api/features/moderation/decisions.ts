import type { ClientSession, Connection } from "mongoose";

import { withTransaction } from "../../db/connection.ts";
import { readPage } from "../../db/pages.ts";
import { ApiError } from "../../http/errors.ts";
import type { Operation } from "../../http/operation.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Moderation } from "../agents/moderation.ts";
import type { TradeGate } from "../agents/trade-gate.ts";
import type { EventType } from "../events/model.ts";
import type { Announcement, EventRecorder } from "../events/recorder.ts";
import type { Appeals } from "./appeals.ts";
import type { DecisionModel, DecisionRecord, ModerationAction } from "./model.ts";
import { findSubject } from "./subjects.ts";
import type { Subject, SubjectModels } from "./subjects.ts";

/** A decision as an operator asks for it. */
export type DecisionRequest = Pick<DecisionRecord, "action" | "subjectType" | "subjectId" | "reason" | "text">;

/** Dependencies of the decisions. */
export interface DecisionDeps extends SubjectModels {
  connection: Connection;
  decisions: DecisionModel;
  appeals: Pick<Appeals, "grant">;
  gate: Pick<TradeGate, "takeTurn">;
  recorder: Pick<EventRecorder, "record">;
  clock: Clock;
}

const EVENTS: Readonly<Record<DecisionRecord["subjectType"], Readonly<Record<"start" | "end", EventType>>>> = {
  listing: { start: "listing.hidden", end: "listing.restored" },
  agent: { start: "agent.suspended", end: "agent.restored" },
};

const isRestoration = (action: ModerationAction): boolean => action === "restore";

function announcementOf({
  _id,
  action,
  subjectType,
  subjectId,
  agentId,
  reason,
  text,
  at,
}: DecisionRecord): Announcement {
  const type = EVENTS[subjectType][isRestoration(action) ? "end" : "start"];
  return {
    type,
    record: { recordId: _id, transactionId: null, orderKey: subjectId },
    body: {
      event: type,
      decisionId: _id,
      subject: { type: subjectType, id: subjectId },
      reason,
      text,
      at: at.toISOString(),
    },
    incarnation: 0,
    recipients: [agentId],
    targets: [],
    occurredAt: at,
  };
}

/** An operator's decisions about listings and agents. They change no deal, payload or money (decision 59). */
export function createDecisions(deps: DecisionDeps) {
  const { connection, decisions, appeals, agents, listings, gate, recorder, clock } = deps;

  /** Writes a decision on its subject, and a suspension on each of the agent's listings. */
  async function apply(
    { _id, action, subjectType, subjectId, reason, text, at }: DecisionRecord,
    session: ClientSession,
  ) {
    const state = subjectType === "agent" ? "suspended" : "hidden";
    const moderation = { decisionId: _id, state, reason, text, at } as Moderation;
    const changeOf = (field: "moderation" | "suspension") =>
      isRestoration(action) ? { $unset: { [field]: 1 as const } } : { $set: { [field]: moderation } };
    // A search index takes a listing's change by its revision.
    const revised = { $inc: { revision: 1 } };
    if (subjectType === "listing") {
      await listings.updateOne({ _id: subjectId }, { ...changeOf("moderation"), ...revised }, { session });
      return;
    }
    await agents.updateOne({ _id: subjectId }, changeOf("moderation"), { session });
    await listings.updateMany({ sellerAgentId: subjectId }, { ...changeOf("suspension"), ...revised }, { session });
  }

  /** The decision that already leaves the subject as it is asked for; undefined if there is something to decide. */
  async function standing(
    { action, subjectId }: DecisionRequest,
    { inForce }: Subject,
    session: ClientSession,
  ): Promise<DecisionRecord | undefined> {
    if (!isRestoration(action)) {
      return inForce === undefined ? undefined : decisions.findById(inForce, null, { session }).lean().orFail();
    }
    if (inForce !== undefined) return undefined;
    const last = await decisions.findOne({ subjectId }, null, { session }).sort({ _id: -1 }).lean();
    if (last === null) throw new ApiError("not_moderated");
    return last;
  }

  return {
    /**
     * Hides, suspends or restores, with the event for the agent, in one transaction. A restoration grants an open appeal. What
     * stands already is left as it is, with the decision that made it so. Two decisions about one seller conflict in the
     * database, and so does a new listing.
     * @throws ApiError `not_found`, `not_moderated`
     */
    async decide(request: DecisionRequest, requestId: string, operation: Operation): Promise<DecisionRecord> {
      const at = clock.now();
      const _id = operation.newId("dec", at);
      return withTransaction(connection, async (session) => {
        const made = operation.isRepeatable ? await decisions.findById(_id, null, { session }).lean() : null;
        if (made !== null) return made;
        const subject = await findSubject(deps, request, session);
        const stands = await standing(request, subject, session);
        if (stands !== undefined) return stands;
        const { agentId, inForce } = subject;
        await gate.takeTurn(agentId, session);
        const ends = isRestoration(request.action) ? (inForce ?? null) : null;
        const decision: DecisionRecord = { _id, ...request, agentId, ends, by: "operator", requestId, at };
        await decisions.create([decision], { session });
        await apply(decision, session);
        await recorder.record([announcementOf(decision)], session);
        await appeals.grant(decision, session);
        return decision;
      });
    },

    /** Every decision, or those about a subject, the newest first. */
    async list({
      subjectId,
      after,
      limit,
    }: {
      subjectId?: string | undefined;
      after: string | undefined;
      limit: number;
    }) {
      const filter = {
        ...(subjectId === undefined ? {} : { subjectId }),
        ...(after === undefined ? {} : { _id: { $lt: after } }),
      };
      return readPage(decisions, filter, { sort: { _id: -1 }, limit });
    },
  };
}

/** An operator's decisions. */
export type Decisions = ReturnType<typeof createDecisions>;
