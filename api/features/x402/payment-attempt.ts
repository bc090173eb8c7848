import type { Clocks } from "../../chain/chain-time.ts";
import { takesIdempotencyKeys } from "../../http/define-route.ts";
import type { Caller } from "../../http/define-route.ts";
import { inputText } from "../../http/stored-response.ts";
import type { Next, ValidatedContext } from "../../http/pipeline.ts";
import { actsByMandate } from "../../http/page-session.ts";
import { sha256Hex } from "../../lib/ids.ts";
import type { Charge } from "./offer/payment-responses.ts";
import type { ClaimRecord } from "./model.ts";
import type { Presented, Proof, SignedProof } from "./offer/proof.ts";
import type { Purpose } from "./settling/reserve.ts";
import type { Terms } from "./offer/terms.ts";
import type { TimeLimit } from "./time-limit.ts";

/** The caller and the identity of a request. */
export interface Call {
  agentId: string;
  keyId: string;
  /** Hash of caller, route and input. */
  requestHash: string;
  /** Undefined without an `Idempotency-Key`. */
  operationId: string | undefined;
}

/** The payment state of one request. */
export interface PaymentAttempt extends Call {
  context: ValidatedContext;
  charge: Charge;
  terms: Terms;
  clocks: Clocks;
  /** Time limit of everything but the call. */
  time: TimeLimit;
  next: Next;
}

/** The call that a request makes. */
export function toCall(context: ValidatedContext, { agentId, keyId }: Caller, now: Date): Call {
  return { agentId, keyId, requestHash: hashRequest(context, agentId), operationId: operationIdOf(context, now) };
}

/** The use that a request reserves its payment for. */
export function toPurpose(
  { agentId, keyId, requestHash, operationId, charge, context }: PaymentAttempt,
  { paymentId }: Presented,
): Purpose {
  return {
    agentId,
    keyId,
    requestHash,
    mandateId: actsByMandate(context.caller) ? keyId : undefined,
    ...(paymentId === undefined ? {} : { paymentId }),
    ...(operationId === undefined ? {} : { operationId }),
    ...(charge.pack === undefined ? {} : { pack: charge.pack }),
  };
}

/** Whether a payment is used for this request. */
export function isSameRequest(claim: ClaimRecord, { agentId, requestHash }: Call): boolean {
  return claim.agentId === agentId && claim.requestHash === requestHash;
}

/** Whether a request repeats a call: the same request by the same key with the same payment. */
export function isRepeat(claim: ClaimRecord, call: Call, proof: Proof): boolean {
  if (!isSameRequest(claim, call) || claim.keyId !== call.keyId) return false;
  // Another Idempotency-Key asks for another operation.
  const isOther =
    claim.operationId !== undefined && call.operationId !== undefined && claim.operationId !== call.operationId;
  return !isOther && isSamePayment(claim, proof);
}

/** Whether a claim was made with this proof. The transaction of an authorisation is another proof. */
export function isSamePayment(claim: ClaimRecord, proof: Proof): boolean {
  if (proof.kind === "signed") return isSameAuthorization(claim, proof);
  return claim.payment === undefined && claim.txHash === proof.txHash;
}

function isSameAuthorization(claim: ClaimRecord, { version, signature, authorization }: SignedProof): boolean {
  const { payment } = claim;
  const { to, value, validAfter, validBefore, nonce } = authorization;
  return (
    payment?.version === version &&
    payment.signature.toLowerCase() === signature.toLowerCase() &&
    claim.nonce === nonce &&
    claim.payTo === to &&
    claim.amount === String(value) &&
    payment.validAfter === String(validAfter) &&
    payment.validBefore === String(validBefore)
  );
}

/** A repeat gets the id of the first request, because it derives from the key's seed. */
function operationIdOf({ route, headers, operation }: ValidatedContext, now: Date): string | undefined {
  const isKeyed = headers["idempotency-key"] !== undefined && takesIdempotencyKeys(route);
  return isKeyed ? operation.newId("req", now) : undefined;
}

function hashRequest({ route, input, headers }: ValidatedContext, agentId: string): string {
  // The same body under another condition, such as `If-Match`, is another call.
  const conditions = Object.keys(route.requestHeaders ?? {}).map((name) => headers[name.toLowerCase()] ?? null);
  return sha256Hex(JSON.stringify([agentId, route.method, route.path, inputText(input), ...conditions]));
}
