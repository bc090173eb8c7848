import { hkdfSync } from "node:crypto";

import { isDuplicateKey } from "../../../db/connection.ts";
import { ApiError } from "../../../http/errors.ts";
import type { WebhookSecretModel, WebhookSecretRecord } from "./model.ts";

/** The current secret, and the next one during a rotation. */
export interface WebhookSecretState {
  /** The current secret: `whsec_` and 64 hexadecimal digits. */
  secret: string;
  rotation: number;
  next: { secret: string; rotation: number; activatesAt: Date } | null;
}

/** The signing secrets of the agents. */
export interface WebhookSecrets {
  /** The secrets of an agent. @throws ApiError `service_unavailable` if the service has no master */
  stateOf(agentId: string): Promise<WebhookSecretState>;
  /** Creates the next secret. It signs once it is activated, or after 24 hours. A repeat changes nothing. */
  rotate(agentId: string): Promise<WebhookSecretState>;
  /**
   * Activates the next secret. Changes nothing if there is none, or if a concurrent call has activated it: a secret issued
   * after that needs its own activation.
   */
  activate(agentId: string): Promise<WebhookSecretState>;
}

/** How long the old secret keeps signing if the new one isn't activated, in milliseconds. */
export const ROTATION_GRACE_MS = 24 * 3_600 * 1000;
const SECRET_BYTES = 32;
/** Attempts of a change when concurrent changes keep winning. */
const CHANGE_ATTEMPTS = 10;

/**
 * Derives an agent's secret from a master with HKDF-SHA256. It reveals neither the master nor any other agent's secret, so
 * no receiver can forge a webhook to another.
 */
export function deriveWebhookSecret(master: string, agentId: string, rotation: number): string {
  const info = `webhook-signing|${agentId}|${rotation}`;
  return `whsec_${Buffer.from(hkdfSync("sha256", master, "", info, SECRET_BYTES)).toString("hex")}`;
}

/** Creates secrets from the masters in WEBHOOK_SIGNING_SECRET. A master's version is its position in that list. */
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

  async function read(agentId: string): Promise<{ stored: WebhookSecretRecord | null; record: WebhookSecretRecord }> {
    const stored = await model.findById(agentId).lean();
    const record = stored ?? { _id: agentId, masterVersion: 0, rotation: 0, next: null };
    if (record.next === null || record.next.activatesAt > now()) return { stored, record };
    const { masterVersion, rotation } = record.next;
    return { stored, record: { _id: agentId, masterVersion, rotation, next: null } };
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

  /** Replaces the record that a change was based on; false if another change came first. */
  async function replace(stored: WebhookSecretRecord | null, record: WebhookSecretRecord): Promise<boolean> {
    const { _id, rotation, next } = stored ?? { _id: record._id, rotation: 0, next: null };
    const asRead = { _id, rotation, "next.rotation": next?.rotation ?? null };
    try {
      const written = await model.replaceOne(asRead, record, { upsert: stored === null });
      return written.matchedCount + written.upsertedCount === 1;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** Applies a change to the stored record. `changeOf` returns undefined to change nothing. */
  async function change(
    agentId: string,
    changeOf: (record: WebhookSecretRecord) => WebhookSecretRecord | undefined,
  ): Promise<WebhookSecretState> {
    for (let attempt = 1; attempt <= CHANGE_ATTEMPTS; attempt += 1) {
      const { stored, record } = await read(agentId);
      const changed = changeOf(record);
      if (changed === undefined) return present(record);
      // Derived before it is stored, because this throws if the secret's master is missing.
      const state = present(changed);
      if (await replace(stored, changed)) return state;
    }
    throw new ApiError("service_unavailable", { retryAfterSeconds: 1 });
  }

  return {
    stateOf: async (agentId) => present((await read(agentId)).record),

    rotate: (agentId) =>
      change(agentId, (record) => {
        if (record.next !== null) return undefined;
        const activatesAt = new Date(now().getTime() + ROTATION_GRACE_MS);
        return { ...record, next: { masterVersion: latestVersion, rotation: record.rotation + 1, activatesAt } };
      }),

    async activate(agentId) {
      let asked: number | undefined;
      return change(agentId, (record) => {
        asked ??= record.next?.rotation;
        if (record.next === null || record.next.rotation !== asked) return undefined;
        const { masterVersion, rotation } = record.next;
        return { _id: agentId, masterVersion, rotation, next: null };
      });
    },
  };
}
