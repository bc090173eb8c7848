import type { Connection } from "mongoose";

import { isDuplicateKey, withTransaction } from "../../../db/connection.ts";
import { ApiError } from "../../../http/errors.ts";
import type { Operation } from "../../../http/operation.ts";
import { recordEventId } from "../../events/event-id.ts";
import type { DispatchModel, DispatchRecord } from "../../outbox/model.ts";
import { buildPing, buildRedelivery } from "../../outbox/enqueue.ts";
import type { OutboxWriter } from "../../outbox/enqueue.ts";
import type { DispatchLog } from "./log.ts";
import type { WebhookHealth } from "../registrations/health.ts";
import type { Registrations } from "../registrations/service.ts";

/** Sends dispatches at an agent's request. */
export interface Redeliveries {
  /**
   * Queues a dispatch again, in the agent's lane. A repeat of the operation returns the same redelivery.
   * @throws ApiError `not_found`; `webhook_not_active` if its webhook was removed or is disabled
   */
  redeliver(agentId: string, dispatchId: string, operation: Operation): Promise<DispatchRecord>;
  /**
   * Queues a trial of a registered webhook. A repeat of the operation returns the same dispatch.
   * @throws ApiError `not_found`; `webhook_not_active` if it is disabled
   */
  ping(agentId: string, webhookId: string, operation: Operation): Promise<DispatchRecord>;
}

/** Dependencies of redeliveries. */
export interface RedeliveriesOptions {
  connection: Connection;
  dispatches: DispatchModel;
  writer: OutboxWriter;
  log: DispatchLog;
  health: WebhookHealth;
  registrations: Registrations;
  now: () => Date;
}

/** The error for a webhook that is disabled or removed. */
export function notActive(webhookId: string, reason: string): ApiError {
  return new ApiError("webhook_not_active", { details: { webhookId, reason } });
}

/** Creates redeliveries in the outbox. */
export function createRedeliveries(options: RedeliveriesOptions): Redeliveries {
  const { connection, dispatches, writer, log, health, registrations, now } = options;

  /** The current address of a dispatch. @throws ApiError `webhook_not_active` */
  async function findAddress({ webhookId, direct, url }: DispatchRecord): Promise<string> {
    // A listing or a checkout names the address, so the registration's state doesn't matter.
    if (webhookId === null || direct) return url;
    const address = await health.readAddress(webhookId);
    if ("error" in address) throw notActive(webhookId, address.error);
    return address.url;
  }

  /** Puts the operation's dispatch into the outbox, unless an earlier run has done so. */
  async function putOnce(
    agentId: string,
    operation: Operation,
    create: (_id: string, at: Date) => Promise<DispatchRecord>,
  ): Promise<DispatchRecord> {
    const at = now();
    const _id = operation.newId("dlv", at);
    const earlier = operation.isRepeat ? await dispatches.findOne({ _id, agentId }).lean() : null;
    if (earlier !== null) return earlier;
    const dispatch = await create(_id, at);
    try {
      await withTransaction(connection, (session) => writer.enqueue([dispatch], session));
    } catch (error) {
      // A repeat of this request was faster.
      if (!isDuplicateKey(error)) throw error;
      return log.get(agentId, _id);
    }
    return dispatch;
  }

  return {
    redeliver(agentId, dispatchId, operation) {
      return putOnce(agentId, operation, async (_id, at) => {
        const original = await log.get(agentId, dispatchId);
        return buildRedelivery(original, { _id, url: await findAddress(original), now: at });
      });
    },

    ping(agentId, webhookId, operation) {
      return putOnce(agentId, operation, async (_id, at) => {
        const { url, status } = await registrations.get(agentId, webhookId);
        if (status !== "active") throw notActive(webhookId, "the webhook is disabled");
        return buildPing({ webhookId, agentId, url }, { _id, eventId: recordEventId(_id, "webhook.ping"), now: at });
      });
    },
  };
}
