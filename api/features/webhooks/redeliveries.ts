import type { Connection } from "mongoose";

import { isDuplicateKey, withTransaction } from "../../db/connection.ts";
import { ApiError } from "../../http/errors.ts";
import type { Operation } from "../../http/operation.ts";
import type { DispatchModel, DispatchRecord } from "../outbox/model.ts";
import { redeliveryOf } from "../outbox/put.ts";
import type { OutboxWriter } from "../outbox/put.ts";
import type { DispatchLog } from "./dispatch-log.ts";
import type { WebhookHealth } from "./health.ts";

/** Sends deliveries again when their agent asks for it (decision 38). */
export interface Redeliveries {
  /**
   * Queues a delivery once more, in the agent's lane. A repeat of the operation answers the same redelivery.
   * @throws ApiError `not_found`; `webhook_not_active` if its webhook was removed or is disabled
   */
  redeliver(agentId: string, deliveryId: string, operation: Operation): Promise<DispatchRecord>;
}

/** Dependencies of redeliveries. */
export interface RedeliveriesOptions {
  connection: Connection;
  dispatches: DispatchModel;
  writer: OutboxWriter;
  log: DispatchLog;
  health: WebhookHealth;
  now: () => Date;
}

/** Redeliveries put into the outbox. */
export function createRedeliveries(options: RedeliveriesOptions): Redeliveries {
  const { connection, dispatches, writer, log, health, now } = options;

  /** Where a delivery goes now. */
  async function addressOf({ webhookId, direct, url }: DispatchRecord): Promise<string> {
    // The listing or the checkout names the address, whatever became of the registration.
    if (webhookId === null || direct) return url;
    const address = await health.addressOf(webhookId);
    if ("error" in address) {
      throw new ApiError("webhook_not_active", { details: { webhookId, reason: address.error } });
    }
    return address.url;
  }

  return {
    async redeliver(agentId, deliveryId, operation) {
      const at = now();
      const _id = operation.newId("dlv", at);
      const earlier = operation.isRepeat
        ? await dispatches.findOne({ _id, agentId }).lean<DispatchRecord | null>()
        : null;
      if (earlier !== null) return earlier;
      const original = await log.get(agentId, deliveryId);
      const redelivery = redeliveryOf(original, { _id, url: await addressOf(original), now: at });
      try {
        await withTransaction(connection, (session) => writer.put([redelivery], session));
      } catch (error) {
        // A repeat of this request has been faster.
        if (!isDuplicateKey(error)) throw error;
        return log.get(agentId, _id);
      }
      return redelivery;
    },
  };
}
