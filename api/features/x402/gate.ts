import type { Clocks } from "../../chain/chain-time.ts";
import type { X402Settings } from "../../config/x402.ts";
import { ApiError } from "../../http/errors.ts";
import { actsByMandate } from "../../http/page-session.ts";
import type { RouteResponse, Next, ValidatedContext } from "../../http/pipeline.ts";
import type { PaymentGate } from "../../http/policies/x402.ts";
import type { MandateLedger } from "../mandates/ledger.ts";
import type { Claims } from "./settling/claims.ts";
import type { Charge, PaymentResponses } from "./offer/payment-responses.ts";
import { FacilitatorUnavailableError } from "./settling/facilitator.ts";
import type { ClaimRecord } from "./model.ts";
import type { Packs } from "./credits/packs.ts";
import type { Failed, PaidCalls } from "./paid-calls.ts";
import { ProofRefusedError, readProof, requireSender, requireTerms } from "./offer/proof.ts";
import type { Presented, Proof, SignedProof, TransferProof } from "./offer/proof.ts";
import type { Repeats } from "./repeats.ts";
import type { Purpose, Reservations } from "./settling/reserve.ts";
import { TimeLimit } from "./time-limit.ts";
import { toCall, isSamePayment, isSameRequest, toPurpose } from "./payment-attempt.ts";
import type { PaymentAttempt } from "./payment-attempt.ts";

/** Dependencies of the gate. */
interface GateDeps {
  settings: X402Settings;
  packs: Packs;
  responses: PaymentResponses;
  repeats: Repeats;
  claims: Claims;
  reservations: Reservations;
  ledger: Pick<MandateLedger, "requireRoom">;
  paidCalls: PaidCalls;
  /** @throws ConfigurationError, ChainUnavailableError */
  requirePayee: (signal: AbortSignal) => Promise<void>;
  readClocks: () => Promise<Clocks>;
  now: () => Date;
}

const OUTAGE_RETRY_SECONDS = 5;

/**
 * Admits paid calls past an exhausted budget, and sells prepaid packs. The order is: verify, reserve the payment, compare
 * the payer's open payments with its balance, run the call, settle, mark as spent. Tokens move only for a call answered
 * below 400. Each step can be repeated after its process was killed.
 */
export class X402Gate implements PaymentGate {
  readonly #deps: GateDeps;

  constructor(deps: GateDeps) {
    this.#deps = deps;
  }

  async pass(context: ValidatedContext, next: Next): Promise<RouteResponse> {
    const { settings, responses, repeats, readClocks, now } = this.#deps;
    const charge = this.#chargeFor(context);
    const { caller } = context;
    if (caller === undefined) return next();
    if (charge === undefined) return (await repeats.freeAnswer(context, caller)) ?? next();
    if (settings.payTo === undefined) return responses.paymentRequired(charge, undefined);
    const time = new TimeLimit(settings.timeoutMs);
    const clocks = await time.within(readClocks);
    const terms = responses.termsFor(charge, context.path, clocks);
    if (terms === undefined) return responses.paymentRequired(charge, undefined);
    const attempt = { ...toCall(context, caller, now()), context, charge, terms, clocks, time, next };
    try {
      return await this.#admit(attempt);
    } catch (error) {
      if (error instanceof ProofRefusedError) return responses.refuse(charge, terms, error.reason, clocks);
      if (error instanceof FacilitatorUnavailableError) {
        throw new ApiError("facilitator_unavailable", { retryAfterSeconds: OUTAGE_RETRY_SECONDS, cause: error });
      }
      throw error;
    }
  }

  #chargeFor({ route, input, budget }: ValidatedContext): Charge | undefined {
    const { packs, settings } = this.#deps;
    const pack = packs.soldBy(route, input.params);
    if (pack !== undefined) {
      const { class: kind, calls, amount } = pack;
      return { amount, budget: undefined, description: `${calls} ${kind} calls`, pack: { class: kind, calls } };
    }
    if (budget?.exhausted !== true) return undefined;
    return { amount: settings.prices[budget.type], budget, description: `One ${budget.type} call`, pack: undefined };
  }

  async #admit(attempt: PaymentAttempt): Promise<RouteResponse> {
    const { responses, paidCalls, requirePayee } = this.#deps;
    const { context, charge, terms } = attempt;
    // Before the proof is read: a client that lost the answer may have signed another payment.
    const earlier = await this.#earlierResponse(attempt);
    if (earlier !== undefined) return earlier;
    const presented = readProof(context.headers, terms.network);
    if (presented === undefined) {
      const awaited = await this.#awaitedResponse(attempt);
      if (awaited !== undefined) return awaited;
      await this.#requireRoom(attempt);
      return responses.paymentRequired(charge, terms);
    }
    const { proof } = presented;
    requireSender(proof, context.caller?.walletAddress ?? "0x");
    await this.#requireOwnId(attempt, presented);
    const known = await this.#knownClaim(proof, attempt);
    if (known !== undefined) return this.#resumeKnown(attempt, known, proof);
    // After the lookup of known claims: a payment already used at another price must not be charged again.
    requireTerms(presented, terms);
    await attempt.time.within(requirePayee);
    const purpose = toPurpose(attempt, presented);
    if (proof.kind === "signed") return this.#paySigned(attempt, { ...presented, proof }, purpose);
    const claim = await this.#transferClaim(attempt, proof, purpose);
    return claim === undefined ? this.#resumeTransfer(attempt, proof) : paidCalls.run(attempt, claim);
  }

  async #paySigned(
    attempt: PaymentAttempt,
    presented: Presented & { proof: SignedProof },
    purpose: Purpose,
  ): Promise<RouteResponse> {
    const { reservations, paidCalls } = this.#deps;
    const { proof } = presented;
    const { terms, clocks, time } = attempt;
    let claim: ClaimRecord | undefined;
    try {
      claim = await time.within((signal) => reservations.signed(proof, terms, purpose, { clocks, signal }));
    } catch (error) {
      // Another request may have paid with it since it was looked up.
      const isUsed = error instanceof ProofRefusedError && error.reason === "authorization_used";
      const known = isUsed ? await this.#knownClaim(proof, attempt) : undefined;
      if (known === undefined) throw error;
      return this.#resumeKnown(attempt, known, proof);
    }
    if (claim !== undefined) return paidCalls.run(attempt, claim);
    // Another payment may have taken the id since.
    await this.#requireOwnId(attempt, presented);
    throw new ProofRefusedError("proof_in_use");
  }

  /** Asks nobody for a payment that the key's mandate wouldn't allow. @throws ApiError `mandate_exceeded` */
  async #requireRoom({ context, keyId, terms: { amount: usd, network } }: PaymentAttempt): Promise<void> {
    if (!actsByMandate(context.caller)) return;
    await this.#deps.ledger.requireRoom(keyId, { usd, network }, this.#deps.now());
  }

  /** @throws ApiError `payment_identifier_reused` if the key has given the payment's id to another payment */
  async #requireOwnId({ keyId }: PaymentAttempt, { proof, paymentId }: Presented): Promise<void> {
    if (paymentId === undefined) return;
    const owner = await this.#deps.claims.findByPaymentId(keyId, paymentId);
    if (owner !== null && !isSamePayment(owner, proof)) throw new ApiError("payment_identifier_reused");
  }

  /** Reserves a transfer; undefined if all that pay the price have claims. */
  async #transferClaim(
    { agentId, terms, time }: PaymentAttempt,
    proof: TransferProof,
    purpose: Purpose,
  ): Promise<ClaimRecord | undefined> {
    const { claims, reservations } = this.#deps;
    try {
      return await time.within((signal) => reservations.transfer(proof, terms, purpose, signal));
    } catch (error) {
      if (!(error instanceof ProofRefusedError)) throw error;
      const taken = await claims.findByTransfer(terms.network, proof.txHash);
      const hasPaid = taken.some((claim) => claim.agentId === agentId && claim.state !== "reserved");
      throw hasPaid ? new ProofRefusedError("proof_already_used") : error;
    }
  }

  /** The answer of an operation that already ran with a payment. The request's own proof is ignored unless that payment failed. */
  async #earlierResponse(attempt: PaymentAttempt): Promise<RouteResponse | undefined> {
    const { claims, responses, paidCalls } = this.#deps;
    const { context, agentId, requestHash, operationId } = attempt;
    if (operationId === undefined || !context.operation.isRepeat) return undefined;
    const claim = await claims.findAnswered(operationId, agentId, requestHash);
    if (claim === null) return undefined;
    if (claim.state !== "spent") return answerOf(await paidCalls.resume(attempt, claim));
    const kept = await claims.answerOf(claim);
    if (kept === undefined) throw new ApiError("already_processed");
    return responses.addReceipt(kept, claim);
  }

  /** The outstanding answer of an earlier, identical request; for requests without a proof. */
  async #awaitedResponse(attempt: PaymentAttempt): Promise<RouteResponse | undefined> {
    const { claims, paidCalls } = this.#deps;
    const claim = await claims.findAwaitingResponse(attempt.agentId, attempt.requestHash);
    return claim === null ? undefined : answerOf(await paidCalls.resume(attempt, claim));
  }

  /** The claim of a proof that is past its reservation. */
  async #knownClaim(proof: Proof, attempt: PaymentAttempt): Promise<ClaimRecord | undefined> {
    const { claims } = this.#deps;
    const { network, token } = attempt.terms;
    if (proof.kind === "signed") {
      const { from, nonce } = proof.authorization;
      const claim = await claims.findByNonce(network, token.address.toLowerCase(), from, nonce);
      return claim === null || claim.state === "reserved" ? undefined : claim;
    }
    // Other transfers of the same transaction may be unused, so only a claim of this very request counts.
    const all = (await claims.findByTransfer(network, proof.txHash)).filter((claim) => isSameRequest(claim, attempt));
    if (attempt.context.operation.isRepeat) return all.find(({ state }) => state === "spent");
    return claims.findUndelivered(all);
  }

  /** Resumes the request that a proof was used for. @throws ProofRefusedError for another request, or if the payment failed */
  async #resumeKnown(attempt: PaymentAttempt, claim: ClaimRecord, proof: Proof): Promise<RouteResponse> {
    const { claims, responses, paidCalls } = this.#deps;
    if (!isSameRequest(claim, attempt)) throw new ProofRefusedError("proof_already_used");
    if (claim.state !== "spent") {
      const resumed = await paidCalls.resume(attempt, claim, proof);
      if ("failed" in resumed) throw new ProofRefusedError(resumed.failed);
      return resumed;
    }
    // The caller repeats an operation whose answer was lost in transit.
    const kept = attempt.context.operation.isRepeat ? await claims.answerOf(claim) : undefined;
    return kept === undefined ? paidCalls.deliverResponse(attempt, claim, proof) : responses.addReceipt(kept, claim);
  }

  /** Answers a request whose transaction has only claimed transfers, if one of them paid for this request. */
  async #resumeTransfer(attempt: PaymentAttempt, proof: TransferProof): Promise<RouteResponse> {
    const { claims, repeats, paidCalls } = this.#deps;
    const taken = await claims.findByTransfer(attempt.terms.network, proof.txHash);
    const pending = taken.find(
      (claim) => claim.responsePending === true && claim.state === "spent" && isSameRequest(claim, attempt),
    );
    if (pending !== undefined) return paidCalls.deliverResponse(attempt, pending, proof);
    const kept = await repeats.sentAnswer(attempt, taken, proof);
    if (kept !== undefined) return kept;
    throw new ProofRefusedError(
      taken.some(({ state }) => state === "reserved") ? "proof_in_use" : "proof_already_used",
    );
  }
}

const answerOf = (resumed: RouteResponse | Failed): RouteResponse | undefined =>
  "failed" in resumed ? undefined : resumed;
