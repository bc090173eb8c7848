import { hkdfSync } from "node:crypto";

import { isDuplicateKey } from "../../db/connection.ts";
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
  /**
   * Lets the next secret sign from now on. Without one it changes nothing, and neither when that one was activated by
   * another call in the meantime: a secret that was handed out later waits for an activation of its own.
   */
  activate(agentId: string): Promise<WebhookSecretState>;
}

/** How long the old secret goes on signing when nobody activates the new one. */
export const ROTATION_GRACE_MS = 24 * 3_600 * 1000;
const SECRET_BYTES = 32;
/** A change that lost against another one is tried again on what that one left; so often at most. */
const CHANGE_ATTEMPTS = 10;

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

  async function read(agentId: string): Promise<{ stored: WebhookSecretRecord | null; record: WebhookSecretRecord }> {
    const stored = await model.findById(agentId).lean<WebhookSecretRecord | null>();
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

  /** Writes a record in the place of the one that it was made from; false when another change came first. */
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

  /** Makes a change of what is stored, which is undefined when nothing is to be changed. */
  async function change(
    agentId: string,
    changeOf: (record: WebhookSecretRecord) => WebhookSecretRecord | undefined,
  ): Promise<WebhookSecretState> {
    for (let attempt = 1; attempt <= CHANGE_ATTEMPTS; attempt += 1) {
      const { stored, record } = await read(agentId);
      const changed = changeOf(record);
      if (changed === undefined) return present(record);
      // Derived first: without its master a secret must not be stored.
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
