import { hkdfSync } from "node:crypto";

import { ApiError } from "../../http/errors.ts";
import type { WebhookSecretModel, WebhookSecretRecord } from "./model.ts";

/** Which secret signs, and whether another one follows. */
export interface WebhookSecretState {
  /** The secret that signs now: `whsec_` and 64 hexadecimal digits. */
  secret: string;
  rotation: number;
  next: { secret: string; rotation: number; activatesAt: Date } | null;
}

/** The signing secrets of the agents (decision 38). */
export interface WebhookSecrets {
  /** The secrets of an agent. Throws ApiError `service_unavailable` when the service has no master. */
  stateOf(agentId: string): Promise<WebhookSecretState>;
  /** Makes the next secret; it signs once it is activated, or 24 hours later. A repeat changes nothing. */
  rotate(agentId: string): Promise<WebhookSecretState>;
  /** Lets the next secret sign from now on. Without one it changes nothing. */
  activate(agentId: string): Promise<WebhookSecretState>;
}

/** How long the old secret goes on signing when nobody activates the new one. */
export const ROTATION_GRACE_MS = 24 * 3_600 * 1000;
const SECRET_BYTES = 32;

/**
 * The secret of an agent: HKDF-SHA256 of a master. Whoever knows one agent's secret learns neither the master nor any
 * other agent's, so no receiver can forge a webhook to another.
 */
export function deriveWebhookSecret(master: string, agentId: string, rotation: number): string {
  const info = `webhook-signing|${agentId}|${rotation}`;
  return `whsec_${Buffer.from(hkdfSync("sha256", master, "", info, SECRET_BYTES)).toString("hex")}`;
}

/** The secrets of agents, from the masters in WEBHOOK_SIGNING_SECRET; the position in the list is the version. */
export function createWebhookSecrets(
  model: WebhookSecretModel,
  masters: readonly string[],
  now: () => Date,
): WebhookSecrets {
  const latestVersion = masters.length - 1;

  function derive(agentId: string, masterVersion: number, rotation: number): string {
    const master = masters[masterVersion];
    if (master === undefined) throw new ApiError("service_unavailable", { details: { missing: "webhook secret" } });
    return deriveWebhookSecret(master, agentId, rotation);
  }

  async function load(agentId: string): Promise<WebhookSecretRecord> {
    const stored = await model.findById(agentId).lean<WebhookSecretRecord | null>();
    const record = stored ?? { _id: agentId, masterVersion: 0, rotation: 0, next: null };
    if (record.next === null || record.next.activatesAt > now()) return record;
    const { masterVersion, rotation } = record.next;
    return { _id: agentId, masterVersion, rotation, next: null };
  }

  function present(record: WebhookSecretRecord): WebhookSecretState {
    const { _id: agentId, masterVersion, rotation, next } = record;
    return {
      secret: derive(agentId, masterVersion, rotation),
      rotation,
      next:
        next === null
          ? null
          : {
              secret: derive(agentId, next.masterVersion, next.rotation),
              rotation: next.rotation,
              activatesAt: next.activatesAt,
            },
    };
  }

  async function save(record: WebhookSecretRecord): Promise<WebhookSecretState> {
    const state = present(record);
    await model.replaceOne({ _id: record._id }, record, { upsert: true });
    return state;
  }

  return {
    stateOf: async (agentId) => present(await load(agentId)),

    async rotate(agentId) {
      const record = await load(agentId);
      if (record.next !== null) return present(record);
      const activatesAt = new Date(now().getTime() + ROTATION_GRACE_MS);
      const next = { masterVersion: latestVersion, rotation: record.rotation + 1, activatesAt };
      return save({ ...record, next });
    },

    async activate(agentId) {
      const record = await load(agentId);
      if (record.next === null) return present(record);
      const { masterVersion, rotation } = record.next;
      return save({ _id: agentId, masterVersion, rotation, next: null });
    },
  };
}
