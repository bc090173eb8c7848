import type { Connection } from "mongoose";

import { WEBHOOK_DISABLED_AFTER_MS } from "../../../config/constants.ts";
import { withTransaction } from "../../../db/connection.ts";
import type { EventRecorder } from "../../events/recorder.ts";
import type { WebhookModel, WebhookRecord } from "./model.ts";

/** The current addresses of registrations, and the record of their failures. */
export interface WebhookHealth {
  /** The registration's current address, or the reason why nothing is sent to it. */
  readAddress(webhookId: string): Promise<{ url: string } | { error: string }>;
  /**
   * Records the result of an attempt. A failure five days or more after the first one without an acknowledgement in between
   * disables the registration, and the owner's event log gets `webhook.disabled`.
   */
  report(agentId: string, webhookId: string, isAcknowledged: boolean): Promise<void>;
}

/** Dependencies of the health of registered webhooks. */
export interface WebhookHealthOptions {
  connection: Connection;
  webhooks: WebhookModel;
  recorder: EventRecorder;
  now: () => Date;
}

/** Creates the health of registered webhooks, stored in their records. */
export function createWebhookHealth({ connection, webhooks, recorder, now }: WebhookHealthOptions): WebhookHealth {
  /** Disables a registration unless its status or failures have changed since it was read. */
  async function disable({ _id, agentId, url, failingSince }: WebhookRecord): Promise<void> {
    const disabledAt = now();
    await withTransaction(connection, async (session) => {
      const asRead = { _id, agentId, status: "active" as const, failingSince };
      const change = { $set: { status: "disabled" as const, disabledAt, updatedAt: disabledAt } };
      const { modifiedCount } = await webhooks.updateOne(asRead, change, { session });
      if (modifiedCount === 0 || failingSince === null) return;
      const since = failingSince.toISOString();
      const body = { event: "webhook.disabled", webhookId: _id, url, failingSince: since };
      const announcement = {
        type: "webhook.disabled" as const,
        // The same webhook can be enabled and fail again.
        record: { recordId: `${_id}:${since}`, transactionId: null, orderKey: null },
        body: { ...body, disabledAt: disabledAt.toISOString() },
        incarnation: 0,
        recipients: [agentId],
        targets: [],
        occurredAt: disabledAt,
      };
      await recorder.record([announcement], session);
    });
  }

  return {
    async readAddress(webhookId) {
      const found = await webhooks.findById(webhookId, { url: 1, status: 1 }).lean();
      if (found === null) return { error: "the webhook was removed" };
      return found.status === "active" ? { url: found.url } : { error: "the webhook is disabled" };
    },

    async report(agentId, webhookId, isAcknowledged) {
      if (isAcknowledged) {
        const hasFailed = { _id: webhookId, agentId, failingSince: { $ne: null } };
        await webhooks.updateOne(hasFailed, { $set: { failingSince: null } });
        return;
      }
      const at = now();
      const failing = await webhooks
        .findOneAndUpdate(
          { _id: webhookId, agentId, status: "active" },
          [{ $set: { failingSince: { $ifNull: ["$failingSince", at] } } }],
          { returnDocument: "after", updatePipeline: true },
        )
        .lean();
      const since = failing?.failingSince?.getTime() ?? at.getTime();
      if (failing !== null && at.getTime() - since >= WEBHOOK_DISABLED_AFTER_MS) await disable(failing);
    },
  };
}
