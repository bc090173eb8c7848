import type { Connection } from "mongoose";

import { KYA_EMAIL_LEVEL } from "../../config/constants.ts";
import type { KyaLevel } from "../../config/constants.ts";
import { isDuplicateKey, withTransaction } from "../../db/connection.ts";
import { ApiError } from "../../http/errors.ts";
import type { Operation } from "../../http/operation.ts";
import type { Clock } from "../../lib/clock.ts";
import { sha256Hex } from "../../lib/ids.ts";
import type { KyaLevels } from "../kya/levels.ts";
import type { AccessRequestRecord, DeveloperModels } from "./model.ts";

/** A request for developer access. */
export interface AccessRequest {
  email: string;
  name?: string | undefined;
  useCase?: string | undefined;
}

/** Developer access: a mail with a token, and the token's verification. */
export interface DeveloperAccess {
  /** Notes a mail to be sent. An address gets at most one in ten minutes, and nobody learns whether this call caused it. */
  request(request: AccessRequest): Promise<void>;
  /**
   * Uses a token up and gives the agent KYA level 1. A repeat returns what the first run left.
   * @throws ApiError `verification_token_invalid`
   */
  verify(agentId: string, token: string, request: { requestId: string; operation: Operation }): Promise<KyaLevel>;
}

/** Dependencies of developer access. */
export interface DeveloperAccessDeps {
  connection: Connection;
  models: DeveloperModels;
  levels: Pick<KyaLevels, "raise" | "leftBy">;
  clock: Clock;
}

/** An address gets at most one mail in this time. */
const PAUSE_MS = 10 * 60_000;

/** Developer access in the database. */
export function createDeveloperAccess({ connection, models, levels, clock }: DeveloperAccessDeps): DeveloperAccess {
  const { requests } = models;
  return {
    async request({ email, name, useCase }) {
      const now = clock.now();
      const record: Omit<AccessRequestRecord, "tokens"> = {
        _id: email.toLowerCase(),
        name: name ?? null,
        useCase: useCase ?? null,
        status: "pending",
        attempts: 0,
        dueAt: now,
        requestedAt: now,
      };
      // The same single write for every address, so that its time reveals nothing either.
      const isRecent = { $gt: ["$requestedAt", new Date(now.getTime() - PAUSE_MS)] };
      const renewed = { $mergeObjects: [{ $literal: record }, { tokens: { $ifNull: ["$tokens", []] } }] };
      const update = [{ $replaceWith: { $cond: [isRecent, "$$ROOT", renewed] } }];
      try {
        await requests.updateOne({ _id: record._id }, update, { upsert: true, updatePipeline: true });
      } catch (error) {
        // Two first requests for one address: the other one has noted the mail.
        if (!isDuplicateKey(error)) throw error;
      }
    },

    async verify(agentId, token, { requestId, operation }) {
      // The first run has used the token up.
      const left = await levels.leftBy(operation, agentId);
      if (left !== undefined) return left;
      const hash = sha256Hex(token);
      return withTransaction(connection, async (session) => {
        const isValid = { tokens: { $elemMatch: { hash, expiresAt: { $gt: clock.now() } } } };
        const used = await requests.findOneAndUpdate(isValid, { $pull: { tokens: { hash } } }, { session }).lean();
        if (used === null) {
          // A repeat may have used it while this run was paused.
          const leftByRepeat = await levels.leftBy(operation, agentId);
          if (leftByRepeat !== undefined) return leftByRepeat;
          throw new ApiError("verification_token_invalid");
        }
        const why = { cause: "email", reason: used._id, requestId } as const;
        return levels.raise(agentId, KYA_EMAIL_LEVEL, why, { operation, session });
      });
    },
  };
}
