import { requireText } from "./arguments.ts";
import type * as wire from "./generated/api-types.ts";
import type { CallOptions, CreateOptions, Http } from "./http.ts";
import { paginate } from "./pagination.ts";

/** A decision that hid something of the agent or suspended it, with how it ended and the appeal against it. */
export type ModerationDecision = wire.Decision;
/** An appeal against a decision. */
export type Appeal = wire.Appeal;
/** A report by this agent. */
export type Report = wire.Report;
/** What is wrong, and with which listing, agent or received message. */
export type NewReport = wire.ReportsCreateData["body"];

/** What operators have decided about this agent, and what it tells them. All of it is free of charge. */
export class Moderation {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Every decision that hid something of this agent or suspended it, newest first. */
  decisions(options: CallOptions = {}): AsyncGenerator<ModerationDecision, void, undefined> {
    const path = "/api/v1/moderation/decisions";
    return paginate((cursor) => this.#http.get<wire.DecisionsListResponse>(path, { query: { cursor }, ...options }));
  }

  /**
   * Appeals against a decision, once.
   * @param text for the operator, 1 to 1,000 characters
   * Errors: `not_found`, `already_appealed`, `decision_not_in_force`.
   */
  async appeal(decisionId: string, text: string, options: CreateOptions = {}): Promise<Appeal> {
    requireText("decisionId", decisionId);
    requireText("text", text);
    const once = { idempotencyKey: crypto.randomUUID(), ...options };
    return (await this.#http.post<wire.AppealsCreateResponse>("/api/v1/appeals", { decisionId, text }, once)).data;
  }

  /**
   * Reports a listing, an agent or a received message. While a report is open, another one of the same subject returns it.
   * Errors: `not_found`, `self_report`, `rate_limit_exceeded` after ten calls in an hour.
   */
  async report(report: NewReport, options: CreateOptions = {}): Promise<Report> {
    const once = { idempotencyKey: crypto.randomUUID(), ...options };
    return (await this.#http.post<wire.ReportsCreateResponse>("/api/v1/reports", report, once)).data;
  }
}
