import type { Connection } from "mongoose";
import { isAddressEqual } from "viem";
import type { Hex } from "viem";

import { isDuplicateKey, withTransaction } from "../../db/connection.ts";
import { ApiError, validationError } from "../../http/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { AgentModels } from "../agents/model.ts";
import { dayOf } from "../limits/tiers.ts";
import type { MandateModel } from "../mandates/model.ts";
import { faultsOf, nonceOf, signerOf, termsOf } from "../mandates/signature.ts";
import type { SignedMandate } from "../mandates/signature.ts";
import type { ApiKeys, IssuedKey } from "./keys.ts";
import { listOrigins } from "./sign-in-message.ts";

/** Dependencies of the keys with mandates. */
export interface MandatedKeysDeps {
  connection: Connection;
  models: Pick<AgentModels, "agents" | "nonces">;
  mandates: MandateModel;
  keys: Pick<ApiKeys, "issueMandated">;
  clock: Clock;
  publicUrl: string;
}

/** A key that was issued for a mandate. */
export interface MandatedKey extends IssuedKey {
  agentId: string;
  expiresAt: Date;
}

/** Issues a key for a mandate that an agent's wallet has signed. */
export type IssueMandatedKey = (request: { mandate: SignedMandate; signature: Hex }) => Promise<MandatedKey>;

/**
 * Creates the issuer. One mandate makes one key: its nonce is used in the transaction that stores both.
 * @throws ApiError `validation_error`, `signature_invalid`, `not_found`, `nonce_already_used`, `mandate_limit_reached`
 */
export function createMandatedKeys(deps: MandatedKeysDeps): IssueMandatedKey {
  const { connection, models, mandates, keys, clock, publicUrl } = deps;
  const hosts = listOrigins(new URL(publicUrl)).map(({ host }) => host);

  return async ({ mandate, signature }) => {
    const now = clock.now();
    const faults = faultsOf(mandate, { hosts, now });
    if (faults.length > 0) throw validationError(faults);
    const signer = await signerOf(mandate, signature);
    if (signer === undefined || !isAddressEqual(signer, mandate.wallet)) throw new ApiError("signature_invalid");
    const agent = await models.agents.findOne({ walletKey: mandate.wallet.toLowerCase() }).lean();
    if (agent === null) throw new ApiError("not_found", { details: { walletAddress: mandate.wallet } });
    const terms = termsOf(mandate);
    const { scopes, notAfter } = terms;
    try {
      const { apiKey, keyId } = await withTransaction(connection, async (session) => {
        const issued = await keys.issueMandated(agent._id, { scopes, expiresAt: notAfter }, session);
        await models.nonces.create([nonceOf(mandate)], { session });
        const unspent = { spentUsd: "0", day: dayOf(now), spentTodayUsd: "0", closedAt: null, endedAt: null };
        await mandates.create([{ _id: issued.keyId, agentId: agent._id, terms, ...unspent, createdAt: now }], {
          session,
        });
        return issued;
      });
      return { agentId: agent._id, apiKey, keyId, expiresAt: notAfter };
    } catch (error) {
      if (isDuplicateKey(error)) throw new ApiError("nonce_already_used", { cause: error });
      throw error;
    }
  };
}
