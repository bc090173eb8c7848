import type { z } from "zod";

import { isDuplicateKey } from "../../db/connection.ts";
import { ApiError } from "../../http/errors.ts";
import type { Operation } from "../../http/operation.ts";
import type { Clock } from "../../lib/clock.ts";
import type { CountCall } from "../limits/client-windows.ts";
import { countInHour } from "../limits/hour-window.ts";
import type { MessageRecord } from "../messages/model.ts";
import { BY_PLACE, BY_SUBJECT } from "./model.ts";
import type { ReportModel, ReportRecord } from "./model.ts";
import { placeOf, readQueue } from "./queue.ts";
import type { QueuePage } from "./queue.ts";
import type { closingBody, reportBody } from "./report-schemas.ts";
import type { SubjectModels } from "./subjects.ts";

/** Reports of an agent in an hour. */
const HOURLY = 10;
/** How long a closed report is kept. */
const KEPT_MS = 90 * 24 * 3_600_000;
/** Characters of a reported message that the operator reads. */
const EXCERPT_LENGTH = 1_000;
/** A report may be closed between the search for an open one and the insertion of another. */
const ATTEMPTS = 3;

type ReportRequest = z.output<typeof reportBody>;

/** Dependencies of the reports. */
export interface ReportDeps extends SubjectModels {
  reports: ReportModel;
  countCall: CountCall;
  /** A message that an agent has received. @throws ApiError `not_found` */
  findReceived: (agentId: string, messageId: string) => Promise<MessageRecord>;
  clock: Clock;
}

/** What agents report to the operator. A report by itself changes nothing else. */
export class Reports {
  readonly #deps: ReportDeps;

  constructor(deps: ReportDeps) {
    this.#deps = deps;
  }

  /**
   * Files a report, unless one of the same subject by the same agent is open: then that one is returned.
   * @throws ApiError `rate_limit_exceeded`, `not_found`, `self_report`
   */
  async file(reporterId: string, request: ReportRequest, operation: Operation): Promise<ReportRecord> {
    const { reports, countCall, clock } = this.#deps;
    // Counted before anything is looked up, so that an agent can't try many ids.
    const id = `reports:${reporterId}`;
    await countInHour(countCall, { window: "reports", countedBy: "agent", id, limit: HOURLY });
    const at = clock.now();
    const _id = operation.newId("rpt", at);
    const made = operation.isRepeat ? await reports.findById(_id).lean() : null;
    if (made !== null) return made;
    const { subject, reason, text = null } = request;
    const { agentId, excerpt } = await this.#find(reporterId, subject);
    if (agentId === reporterId) throw new ApiError("self_report");
    return this.#store({
      _id,
      reporterId,
      subjectType: subject.type,
      subjectId: subject.id,
      agentId,
      reason,
      text,
      excerpt,
      state: "open",
      place: placeOf(_id, true),
      note: null,
      at,
      closedAt: null,
    });
  }

  /** The reports, open ones first. */
  list({ subjectId, ...page }: QueuePage & { subjectId?: string | undefined }) {
    const { reports } = this.#deps;
    if (subjectId === undefined) return readQueue(reports, {}, { ...page, hint: BY_PLACE });
    return readQueue(reports, { subjectId }, { ...page, hint: BY_SUBJECT });
  }

  /** @throws ApiError `not_found`, `report_not_open` */
  async close(
    id: string,
    { outcome, note }: z.output<typeof closingBody>,
    operation: Operation,
  ): Promise<ReportRecord> {
    const { reports, clock } = this.#deps;
    const found = await reports.findById(id).lean();
    if (found === null) throw new ApiError("not_found", { details: { reportId: id } });
    const closedAt = clock.now();
    const change = {
      state: outcome,
      place: placeOf(id, false),
      note,
      closedAt,
      deleteAt: new Date(closedAt.getTime() + KEPT_MS),
    };
    const open = { _id: id, reporterId: found.reporterId, state: "open" as const };
    const { modifiedCount } = await reports.updateOne(open, { $set: change });
    if (modifiedCount === 1) return { ...found, ...change };
    const closed = await reports.findById(id).lean().orFail();
    if (operation.isRepeat && closed.state === outcome && closed.note === note) return closed;
    throw new ApiError("report_not_open", { details: { state: closed.state } });
  }

  async #store(report: ReportRecord): Promise<ReportRecord> {
    const { reports } = this.#deps;
    const { reporterId, subjectId } = report;
    for (let attempt = 1; ; attempt += 1) {
      const open = await reports.findOne({ reporterId, subjectId, state: "open" }).lean();
      if (open !== null) return open;
      try {
        await reports.create([report]);
        return report;
      } catch (error) {
        if (!isDuplicateKey(error) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /** The agent that a subject belongs to. What the reporter can't read doesn't exist. @throws ApiError `not_found` */
  async #find(
    reporterId: string,
    { type, id }: ReportRequest["subject"],
  ): Promise<Pick<ReportRecord, "agentId" | "excerpt">> {
    const { agents, listings, findReceived } = this.#deps;
    if (type === "message") {
      const { fromAgentId, bodyJson } = await findReceived(reporterId, id);
      return { agentId: fromAgentId, excerpt: bodyJson?.slice(0, EXCERPT_LENGTH).toWellFormed() ?? null };
    }
    if (type === "agent") {
      if ((await agents.exists({ _id: id })) === null) throw new ApiError("not_found", { details: { agentId: id } });
      return { agentId: id, excerpt: null };
    }
    const fields = { sellerAgentId: 1, moderation: 1, suspension: 1 } as const;
    const listing = await listings.findById(id, fields).lean();
    const isHidden = (listing?.moderation ?? listing?.suspension) !== undefined;
    if (listing === null || (isHidden && listing.sellerAgentId !== reporterId)) {
      throw new ApiError("not_found", { details: { serviceId: id } });
    }
    return { agentId: listing.sellerAgentId, excerpt: null };
  }
}
