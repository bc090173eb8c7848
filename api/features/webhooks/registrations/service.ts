import type { Connection } from "mongoose";

import { WEBHOOKS_PER_AGENT } from "../../../config/constants.ts";
import { isDuplicateKey, withTransaction } from "../../../db/connection.ts";
import type { DoneOperationModel } from "../../../db/done-operations.ts";
import { ApiError } from "../../../http/errors.ts";
import type { Operation } from "../../../http/operation.ts";
import type { EventType } from "../../events/model.ts";
import type { Subscription, Subscriptions } from "../../events/subscriptions.ts";
import type { WebhookModel, WebhookRecord } from "./model.ts";

/** A webhook to register. */
export interface NewWebhook {
  url: string;
  events: readonly EventType[];
  durable: boolean;
}

/** A change of a registration. `active` also enables one that the service has disabled. */
export interface WebhookPatch extends Partial<NewWebhook> {
  status?: "active";
}

/** A page of registrations, newest first, and the position where the next page starts. */
export interface WebhookPage {
  webhooks: WebhookRecord[];
  next: { after: string } | null;
}

/** Attempts to take a free slot while other registrations take the same one. */
const SLOT_ATTEMPTS = 2 * WEBHOOKS_PER_AGENT;
/** How long a removed registration is kept for a repeat, in milliseconds: at least as long as an `Idempotency-Key`. */
const REMOVAL_KEPT_MS = 24 * 3_600_000;
const SLOTS = Array.from({ length: WEBHOOKS_PER_AGENT }, (_, slot) => slot);

/** The database filter of a list. */
export function webhooksFilter(agentId: string, cursor?: { after: string }) {
  return { agentId, ...(cursor === undefined ? {} : { _id: { $lt: cursor.after } }) };
}

/** The order of a list: newest first. */
export const WEBHOOK_ORDER = { _id: -1 } as const;

/** The database filter of the registrations that get one of these events. */
export function subscribedFilter(agentIds: readonly string[], eventTypes: readonly string[]) {
  return { agentId: { $in: [...agentIds] }, status: "active" as const, events: { $in: eventTypes as EventType[] } };
}

/** Creates the event recorder's view of the registrations. */
export function createSubscriptions(model: WebhookModel): Subscriptions {
  return {
    async of(agentIds, eventTypes, session) {
      if (agentIds.length === 0) return [];
      const found = await model.find(subscribedFilter(agentIds, eventTypes), null, { session }).lean();
      return found.map(({ _id, agentId, url, events, durable }): Subscription => ({
        webhookId: _id,
        agentId,
        url,
        events,
        durable,
      }));
    },
  };
}

/** Dependencies of the registrations. */
export interface RegistrationsDeps {
  connection: Connection;
  webhooks: WebhookModel;
  doneOperations: DoneOperationModel;
  now: () => Date;
}

/** The registered webhooks of agents. Another agent's webhook is `not_found`. */
export class Registrations {
  readonly #deps: RegistrationsDeps;

  constructor(deps: RegistrationsDeps) {
    this.#deps = deps;
  }

  /**
   * Registers an address.
   * @throws ApiError `webhook_limit_reached` if the agent has 20 already
   */
  async add(agentId: string, { url, events, durable }: NewWebhook, operation: Operation): Promise<WebhookRecord> {
    const { webhooks: model, now } = this.#deps;
    const createdAt = now();
    const _id = operation.newId("whk", createdAt);
    for (let attempt = 1; attempt <= SLOT_ATTEMPTS; attempt += 1) {
      const mayExist = operation.isRepeat || attempt > 1;
      const earlier = mayExist ? await model.findOne({ _id, agentId }).lean() : null;
      if (earlier !== null) return earlier;
      const record: WebhookRecord = {
        _id,
        agentId,
        slot: await this.#freeSlot(agentId),
        url,
        events: [...events],
        durable,
        status: "active",
        failingSince: null,
        disabledAt: null,
        createdAt,
        updatedAt: createdAt,
      };
      try {
        await model.create([record]);
        return record;
      } catch (error) {
        // Another registration took the slot, or a repeat of this one was faster.
        if (!isDuplicateKey(error)) throw error;
      }
    }
    throw new ApiError("service_unavailable", { retryAfterSeconds: 1 });
  }

  async list(
    agentId: string,
    { limit, cursor }: { limit: number; cursor?: { after: string } | undefined },
  ): Promise<WebhookPage> {
    const found = await this.#deps.webhooks
      .find(webhooksFilter(agentId, cursor))
      .sort(WEBHOOK_ORDER)
      .limit(limit + 1)
      .lean();
    const webhooks = found.slice(0, limit);
    const last = webhooks.at(-1);
    return { webhooks, next: found.length > limit && last !== undefined ? { after: last._id } : null };
  }

  /** @throws ApiError `not_found` */
  async get(agentId: string, webhookId: string): Promise<WebhookRecord> {
    const record = await this.#deps.webhooks.findOne({ _id: webhookId, agentId }).lean();
    if (record === null) throw notFound(webhookId);
    return record;
  }

  /** @throws ApiError `not_found` */
  async change(agentId: string, webhookId: string, { status, ...patch }: WebhookPatch): Promise<WebhookRecord> {
    const { webhooks: model, now } = this.#deps;
    // A changed or re-enabled address starts without failures.
    const isFresh = status !== undefined || patch.url !== undefined;
    const changed = await model
      .findOneAndUpdate(
        { _id: webhookId, agentId },
        {
          $set: {
            ...patch,
            ...(isFresh ? { failingSince: null } : {}),
            ...(status === undefined ? {} : { status, disabledAt: null }),
            updatedAt: now(),
          },
        },
        { returnDocument: "after", runValidators: true },
      )
      .lean();
    if (changed === null) throw notFound(webhookId);
    return changed;
  }

  /**
   * Removes a registration. Its waiting dispatches are dropped. A repeat returns the registration that the first run removed.
   * @throws ApiError `not_found`
   */
  async remove(agentId: string, webhookId: string, operation: Operation): Promise<WebhookRecord> {
    const { connection, webhooks: model, doneOperations, now } = this.#deps;
    const at = now();
    const _id = `${agentId}|${operation.newId("whk", at)}`;
    const earlier = operation.isRepeat ? await doneOperations.findById(_id).lean() : null;
    if (earlier !== null) return earlier.result as WebhookRecord;
    const expiresAt = new Date(at.getTime() + REMOVAL_KEPT_MS);
    return withTransaction(connection, async (session) => {
      const filter = { _id: webhookId, agentId };
      const webhook = await model.findOneAndDelete(filter, { session }).lean();
      if (webhook === null) {
        // A repeat may have removed it while this run was paused.
        const done = await doneOperations.findById(_id, null, { session }).lean();
        if (done === null) throw notFound(webhookId);
        return done.result as WebhookRecord;
      }
      await doneOperations.create([{ _id, result: webhook, expiresAt }], { session });
      return webhook;
    });
  }

  async #freeSlot(agentId: string): Promise<number> {
    const taken = await this.#deps.webhooks.find({ agentId }, { _id: 0, slot: 1 }).lean();
    const slots = new Set(taken.map(({ slot }) => slot));
    const free = SLOTS.find((slot) => !slots.has(slot));
    if (free === undefined) throw new ApiError("webhook_limit_reached", { details: { limit: WEBHOOKS_PER_AGENT } });
    return free;
  }
}

function notFound(webhookId: string): ApiError {
  return new ApiError("not_found", { details: { webhookId } });
}
