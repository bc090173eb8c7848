import { HTTPFacilitatorClient } from "@x402/core/http";
import { SettleError, VerifyError } from "@x402/core/types";
import type { PaymentPayload, PaymentRequirements } from "@x402/core/types";
import type { Hash } from "viem";

import type { FacilitatorKey } from "../../../config/facilitator-key.ts";
import { untilAborted } from "../../../lib/stopping.ts";
import { facilitatorAuthorization } from "./facilitator-authorization.ts";
import type { Refusal, SignedProof } from "../offer/proof.ts";
import { requirementsV1, requirementsV2 } from "../offer/terms.ts";
import type { Terms } from "../offer/terms.ts";

/** Thrown when a facilitator doesn't answer, or when its answer doesn't settle whether the payment is valid. */
export class FacilitatorUnavailableError extends Error {
  override readonly name = "FacilitatorUnavailableError";

  constructor(cause: unknown) {
    super("The facilitator is unavailable", { cause });
  }
}

/** The reported outcome of an attempt to settle. Only the chain shows whether tokens have moved. */
export type SettleAttempt =
  /** The facilitator reports that this transaction settled the payment. */
  | { kind: "sent"; txHash: Hash }
  /** The facilitator reports that the payment can't settle. */
  | { kind: "refused"; reason: string }
  /** The outcome is unknown; the transaction is known if it was sent. */
  | { kind: "unknown"; txHash?: Hash; cause?: unknown };

/** Verifies and settles payments of official clients. */
export interface Facilitator {
  /**
   * The reason for rejecting a payment; undefined if it can settle now.
   * @param signal ends the wait
   * @throws FacilitatorUnavailableError, ChainUnavailableError
   */
  verify(proof: SignedProof, terms: Terms, signal: AbortSignal): Promise<Refusal | undefined>;
  /**
   * Tries to settle a payment. Never throws.
   * @param signal ends the wait; the outcome is then unknown
   * @param beforeSending called with the hash of a transaction before sending it, by facilitators in this process
   */
  settle(
    proof: SignedProof,
    terms: Terms,
    signal: AbortSignal,
    beforeSending: (txHash: Hash) => Promise<void>,
  ): Promise<SettleAttempt>;
}

/** A proof and terms in the form that the official packages take. */
export interface OfficialPayment {
  payload: PaymentPayload;
  requirements: PaymentRequirements;
}

/**
 * Rebuilds a payment from its parsed fields, so that nothing else from the caller reaches a facilitator. The packages'
 * types are those of version 2; their functions also take version 1.
 */
export function officialPayment({ version, authorization, signature }: SignedProof, terms: Terms): OfficialPayment {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const payload = {
    signature,
    authorization: {
      from,
      to,
      nonce,
      value: String(value),
      validAfter: String(validAfter),
      validBefore: String(validBefore),
    },
  };
  if (version === 2) {
    const requirements = requirementsV2(terms);
    const resource = { url: terms.resource, description: terms.description, mimeType: "application/json" };
    return { payload: { x402Version: 2, resource, accepted: requirements, payload }, requirements };
  }
  const requirements = requirementsV1(terms);
  return {
    payload: { x402Version: 1, scheme: "exact", network: terms.network, payload } as unknown as PaymentPayload,
    requirements: requirements as unknown as PaymentRequirements,
  };
}

/** Patterns of the official packages' reasons, with the matching refusals. */
const REFUSALS: readonly (readonly [RegExp, Refusal])[] = [
  [/nonce_already_used/, "authorization_used"],
  [/insufficient_(balance|funds)/, "insufficient_balance"],
  [/valid_before/, "expired"],
  [/valid_after/, "not_yet_valid"],
  [/recipient/, "wrong_recipient"],
  [/authorization_value|value_mismatch/, "wrong_amount"],
  [/network/, "wrong_network"],
  [/token_(name|version)|asset/, "wrong_token"],
  [/signature/, "invalid_signature"],
];

/** Maps a reason of the official packages to a refusal. */
export function refusalOf(reason: string | undefined): Refusal {
  return REFUSALS.find(([pattern]) => pattern.test(reason ?? ""))?.[1] ?? "verification_failed";
}

const TX_HASH = /^0x[0-9a-fA-F]{64}$/;
/** Reasons after which a payment certainly hasn't settled. A failed transaction or an unknown state isn't certain. */
const CERTAIN_REFUSAL = /^(invalid_(?!.*(transaction_failed|transaction_state))|insufficient_|unsupported_)/;

/** Interprets a facilitator's answer to a settlement. */
export function toAttempt(answer: {
  success: boolean;
  transaction: string;
  errorReason?: string | undefined;
}): SettleAttempt {
  const txHash = TX_HASH.test(answer.transaction) ? (answer.transaction.toLowerCase() as Hash) : undefined;
  if (answer.success && txHash !== undefined) return { kind: "sent", txHash };
  const reason = answer.errorReason ?? "";
  if (txHash !== undefined) return { kind: "unknown", txHash, cause: reason };
  if (!answer.success && CERTAIN_REFUSAL.test(reason)) return { kind: "refused", reason };
  return { kind: "unknown", cause: reason };
}

/** Settings of a facilitator at a URL. */
interface HttpFacilitatorOptions {
  url: string;
  /** Authorises the requests; undefined if the facilitator requires no authorisation. */
  key: FacilitatorKey | undefined;
  /** Timeout of each request, in milliseconds. */
  timeoutMs: number;
}

/** The client of a facilitator at a URL. */
export class HttpFacilitator implements Facilitator {
  readonly #client: HTTPFacilitatorClient;

  constructor({ url, key, timeoutMs }: HttpFacilitatorOptions) {
    const authorization = key === undefined ? {} : { createAuthHeaders: facilitatorAuthorization(url, key) };
    this.#client = new HTTPFacilitatorClient({ url, timeoutMs, ...authorization });
  }

  async verify(proof: SignedProof, terms: Terms, signal: AbortSignal): Promise<Refusal | undefined> {
    const { payload, requirements } = officialPayment(proof, terms);
    try {
      const { isValid, invalidReason } = await untilAborted(this.#client.verify(payload, requirements), signal);
      return isValid ? undefined : refusalOf(invalidReason);
    } catch (error) {
      if (error instanceof VerifyError && error.statusCode < 500) return refusalOf(error.invalidReason);
      throw new FacilitatorUnavailableError(error);
    }
  }

  async settle(proof: SignedProof, terms: Terms, signal: AbortSignal): Promise<SettleAttempt> {
    const { payload, requirements } = officialPayment(proof, terms);
    try {
      return toAttempt(await untilAborted(this.#client.settle(payload, requirements), signal));
    } catch (error) {
      if (!(error instanceof SettleError)) return { kind: "unknown", cause: error };
      const { transaction, errorReason } = error;
      return toAttempt({ success: false, transaction, errorReason });
    }
  }
}
