import { setTimeout as sleep } from "node:timers/promises";

import type { Clocks } from "../../chain/chain-time.ts";
import type { X402Settings } from "../../config/x402.ts";
import { ApiError } from "../../http/errors.ts";
import type { Answer, ValidatedContext } from "../../http/pipeline.ts";
import type { PaymentGate } from "../../http/policies/x402.ts";
import type { Logger } from "../../lib/logger.ts";
import { pauseAfter } from "../../lib/retry.ts";
import type { Claims } from "./settling/claims.ts";
import type { RequireFunds } from "./settling/balance-check.ts";
import { discard } from "./offer/payment-responses.ts";
import type { Charge, PaymentResponses } from "./offer/payment-responses.ts";
import { FacilitatorUnavailableError } from "./settling/facilitator.ts";
import type { ClaimRecord } from "./model.ts";
import type { Packs } from "./credits/packs.ts";
import { ProofRefusedError, readProof, requireSender, requireTerms } from "./offer/proof.ts";
import type { Presented, Proof, Refusal, SignedProof, TransferProof } from "./offer/proof.ts";
import { createRepeats } from "./repeats.ts";
import type { createReservations, Purpose } from "./settling/reserve.ts";
import type { Settlement, Settlements, SignedClaim } from "./settling/settlement.ts";
import { createTimeLimit } from "./time-limit.ts";
import { callOf, isSamePayment, isSameRequest, purposeOf } from "./payment-attempt.ts";
import type { PaymentAttempt } from "./payment-attempt.ts";

/** Dependencies of the gate. */
export interface GateDeps {
  settings: X402Settings;
  packs: Packs;
  responses: PaymentResponses;
  claims: Claims;
  reservations: ReturnType<typeof createReservations>;
  requireFunds: RequireFunds;
  /** Undefined if signed payments can't be settled. */
  settlements: Settlements | undefined;
  /** @throws ConfigurationError, ChainUnavailableError */
  requirePayee: (signal: AbortSignal) => Promise<void>;
  readClocks: () => Promise<Clocks>;
  log: Logger;
}

const FIRST_ERROR = 400;
const FIRST_SERVER_ERROR = 500;
const OUTAGE_RETRY_SECONDS = 5;
/** First and longest pause between checks whether another request has sent the answer, in milliseconds. */
const SENDING_PAUSE = { minMs: 20, maxMs: 200 };

/**
 * Admits paid calls past an exhausted budget, and sells prepaid packs. The order is: verify, reserve the payment, compare
 * the payer's open payments with his balance, run the call, settle, mark as spent. Tokens move only for a call answered
 * below 400. Each step can be repeated after its process was killed.
 */
export function createPaymentGate(deps: GateDeps): PaymentGate {
  const { settings, packs, responses, claims, reservations, settlements, log } = deps;
  const repeats = createRepeats({ network: settings.network, responses, claims });

  function chargeFor({ route, input, budget }: ValidatedContext): Charge | undefined {
    const pack = packs.soldBy(route, input.params);
    if (pack !== undefined) {
      const { class: kind, calls, amount } = pack;
      return { amount, budget: undefined, description: `${calls} ${kind} calls`, pack: { class: kind, calls } };
    }
    if (budget?.exhausted !== true) return undefined;
    return { amount: settings.prices[budget.type], budget, description: `One ${budget.type} call`, pack: undefined };
  }

  async function admit(attempt: PaymentAttempt): Promise<Answer> {
    const { context, terms } = attempt;
    // Before the proof is read: a client that lost the answer may have signed another payment.
    const earlier = await earlierResponse(attempt);
    if (earlier !== undefined) return earlier;
    const presented = readProof(context.headers, terms.network);
    if (presented === undefined)
      return (await awaitedResponse(attempt)) ?? responses.paymentRequired(attempt.charge, terms);
    const { proof } = presented;
    requireSender(proof, context.caller?.walletAddress ?? "0x");
    await requireOwnId(attempt, presented);
    const known = await knownClaim(proof, attempt);
    if (known !== undefined) return resumeKnown(attempt, known, proof);
    // After the lookup of known claims: a payment already used at another price must not be charged again.
    requireTerms(presented, terms);
    await attempt.time.within(deps.requirePayee);
    const purpose = purposeOf(attempt, presented);
    if (proof.kind === "signed") return paySigned(attempt, { ...presented, proof }, purpose);
    const claim = await transferClaim(attempt, proof, purpose);
    return claim === undefined ? resumeTransfer(attempt, proof) : runReserved(attempt, claim);
  }

  async function paySigned(
    attempt: PaymentAttempt,
    presented: Presented & { proof: SignedProof },
    purpose: Purpose,
  ): Promise<Answer> {
    const { proof } = presented;
    const { terms, clocks, time } = attempt;
    let claim: ClaimRecord | undefined;
    try {
      claim = await time.within((signal) => reservations.signed(proof, terms, purpose, { clocks, signal }));
    } catch (error) {
      // Another request may have paid with it since it was looked up.
      const isUsed = error instanceof ProofRefusedError && error.reason === "authorization_used";
      const known = isUsed ? await knownClaim(proof, attempt) : undefined;
      if (known === undefined) throw error;
      return resumeKnown(attempt, known, proof);
    }
    if (claim !== undefined) return runReserved(attempt, claim);
    // Another payment may have taken the id since.
    await requireOwnId(attempt, presented);
    throw new ProofRefusedError("proof_in_use");
  }

  /** @throws ApiError `payment_identifier_reused` if the key has given the payment's id to another payment */
  async function requireOwnId({ keyId }: PaymentAttempt, { proof, paymentId }: Presented): Promise<void> {
    if (paymentId === undefined) return;
    const owner = await claims.findByPaymentId(keyId, paymentId);
    if (owner !== null && !isSamePayment(owner, proof)) throw new ApiError("payment_identifier_reused");
  }

  /** Reserves a transfer; undefined if all that pay the price have claims. */
  async function transferClaim(
    { agentId, terms, time }: PaymentAttempt,
    proof: TransferProof,
    purpose: Purpose,
  ): Promise<ClaimRecord | undefined> {
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
  async function earlierResponse(attempt: PaymentAttempt): Promise<Answer | undefined> {
    const { context, agentId, requestHash, operationId } = attempt;
    if (operationId === undefined || !context.operation.isRepeat) return undefined;
    const claim = await claims.findAnswered(operationId, agentId, requestHash);
    if (claim === null) return undefined;
    if (claim.state !== "spent") return answerOf(await resume(attempt, claim));
    const kept = await claims.answerOf(claim);
    if (kept === undefined) throw new ApiError("already_processed");
    return responses.addReceipt(kept, claim, claim.txHash ?? "");
  }

  /** The outstanding answer of an earlier, identical request; for requests without a proof. */
  async function awaitedResponse(attempt: PaymentAttempt): Promise<Answer | undefined> {
    const due = await claims.findAwaitingResponse(attempt.agentId, attempt.requestHash);
    return due === null ? undefined : answerOf(await resume(attempt, due));
  }

  /** The claim of a proof that is past its reservation. */
  async function knownClaim(proof: Proof, attempt: PaymentAttempt): Promise<ClaimRecord | undefined> {
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
  async function resumeKnown(attempt: PaymentAttempt, claim: ClaimRecord, proof: Proof): Promise<Answer> {
    if (!isSameRequest(claim, attempt)) throw new ProofRefusedError("proof_already_used");
    if (claim.state !== "spent") {
      const resumed = await resume(attempt, claim, proof);
      if ("failed" in resumed) throw new ProofRefusedError(resumed.failed);
      return resumed;
    }
    // The caller repeats an operation whose answer was lost in transit.
    const kept = attempt.context.operation.isRepeat ? await claims.answerOf(claim) : undefined;
    return kept === undefined
      ? deliverResponse(attempt, claim, proof)
      : responses.addReceipt(kept, claim, claim.txHash ?? "");
  }

  /** Answers a request whose transaction has only claimed transfers, if one of them paid for this request. */
  async function resumeTransfer(attempt: PaymentAttempt, proof: TransferProof): Promise<Answer> {
    const taken = await claims.findByTransfer(attempt.terms.network, proof.txHash);
    const due = taken.find(
      (claim) => claim.responsePending === true && claim.state === "spent" && isSameRequest(claim, attempt),
    );
    if (due !== undefined) return deliverResponse(attempt, due, proof);
    const kept = await repeats.sentAnswer(attempt, taken, proof);
    if (kept !== undefined) return kept;
    throw new ProofRefusedError(
      taken.some(({ state }) => state === "reserved") ? "proof_in_use" : "proof_already_used",
    );
  }

  async function runReserved(attempt: PaymentAttempt, claim: ClaimRecord): Promise<Answer> {
    const { context } = attempt;
    return withRenewal(claim, async () => {
      const earlier = claim.runs > 1 ? await claims.answerOf(claim) : undefined;
      const answer = earlier ?? (await run(attempt, claim));
      if (answer.status >= FIRST_ERROR) {
        await releaseClaim(claim);
        return answer;
      }
      const storable = context.route.storesAnswer ? answer : undefined;
      try {
        if (isSigned(claim)) {
          if (!(await claims.beginSettling(claim, storable))) throw new ProofRefusedError("proof_in_use");
          return await finishSettlement(attempt, claim, await settle(attempt, claim, true), answer);
        }
        if (storable !== undefined) await claims.keepAnswer(claim, storable);
        const { txHash = "", position = 0 } = claim;
        if (!(await claims.confirm(claim, "spent", { txHash, position }))) throw new ProofRefusedError("proof_in_use");
        return withReceipt(claim, answer, txHash);
      } catch (error) {
        discard(answer);
        throw error;
      }
    });
  }

  /** Runs the call. If it throws, the claim is released, or its lease ends so that the next run can continue. */
  async function run({ context, terms, time, next }: PaymentAttempt, claim: ClaimRecord): Promise<Answer> {
    if (context.headers["idempotency-key"] === undefined) {
      context.operation.recognise({ startedAt: claim.startedAt, seed: claim.seed, isRepeat: claim.runs > 1 });
    }
    let hasBegun = false;
    try {
      // An earlier run may have taken effect, so a repeated run isn't refused.
      if (isSigned(claim) && claim.runs === 1) {
        await time.within((signal) => deps.requireFunds(claim, signal, terms.leadSeconds));
      }
      hasBegun = true;
      return await next();
    } catch (error) {
      // Only a refusal proves that the call had no effect. After an outage, the next run must find the claim of this one.
      const isUndone = !hasBegun || (error instanceof ApiError && error.status < FIRST_SERVER_ERROR);
      // If this fails too, the lease expires.
      await (isUndone ? releaseClaim(claim) : claims.endLease(claim)).catch((failure: unknown) => {
        log.warn({ err: failure }, "couldn't release an x402 payment");
      });
      throw error;
    }
  }

  /** Frees a payment whose call failed. After a repeated run only the lease ends: an earlier run may have taken effect. */
  const releaseClaim = (claim: ClaimRecord): Promise<void> =>
    claim.runs > 1 ? claims.endLease(claim) : claims.release(claim);

  /** Continues to settle a payment whose call has been answered. Releases the claim if the settlement failed. */
  async function resume(attempt: PaymentAttempt, due: ClaimRecord, proof?: Proof): Promise<Answer | Failed> {
    const { charge, terms } = attempt;
    if (due.state === "settled") return deliverResponse(attempt, due, proof);
    const claim = await claims.takeOver(due._id);
    if (claim === undefined || !isSigned(claim)) return responses.pending(charge, terms, due.payment?.txHashes.at(-1));
    return withRenewal(claim, async () => {
      const settlement = await settle(attempt, claim, false);
      if (settlement.kind === "failed") {
        await claims.release(claim);
        return { failed: settlement.reason };
      }
      if (settlement.kind === "pending") return respondPending(attempt, claim, settlement.txHash);
      // Another process took over the claim. It records the payment, and the next request gets the answer.
      if (!(await claims.confirm(claim, "settled", settlement)))
        return responses.pending(charge, terms, settlement.txHash);
      return deliverResponse(attempt, { ...claim, txHash: settlement.txHash }, proof);
    });
  }

  /**
   * Sends the stored response of a confirmed payment.
   * @param proof undefined if the request has none, or if it isn't the proof that paid for the answer
   */
  async function deliverResponse(attempt: PaymentAttempt, due: ClaimRecord, proof?: Proof): Promise<Answer> {
    const kept = await claims.answerOf(due);
    const claim = await attempt.time.within((signal) => claimResponse(due, signal));
    if (claim === undefined) {
      const sent = proof === undefined ? undefined : await repeats.sentAnswer(attempt, [due], proof);
      if (sent === undefined) throw new ProofRefusedError("proof_already_used");
      return sent;
    }
    const { txHash = "" } = claim;
    if (kept !== undefined) return withReceipt(claim, kept, txHash);
    // The answer couldn't be stored. A read can run again; other calls have already taken effect.
    if (attempt.context.route.readsOnly) return withReceipt(claim, await attempt.next(), txHash);
    await claims.noteSent(claim);
    throw new ApiError("already_processed");
  }

  /** Waits while another request sends the answer; undefined once sent. @throws ProofRefusedError on a timeout */
  async function claimResponse(due: ClaimRecord, signal: AbortSignal): Promise<ClaimRecord | undefined> {
    const end = performance.now() + claims.patienceMs;
    for (let looks = 0; ; looks += 1) {
      const taken = await claims.claimResponse(due._id);
      if (typeof taken !== "string") return taken;
      if (taken === "sent") return undefined;
      if (signal.aborted || performance.now() > end) throw new ProofRefusedError("proof_in_use");
      await sleep(pauseAfter(looks, SENDING_PAUSE));
    }
  }

  /** The answer of a spent payment, with its receipt. Until it is sent, the lease stops other requests with the same proof. */
  function withReceipt(claim: ClaimRecord, answer: Answer, txHash: string): Answer {
    const noteSent = async (isSent: Promise<boolean>): Promise<void> => {
      try {
        const wasSent = await withRenewal(claim, () => isSent);
        await (wasSent ? claims.noteSent(claim) : claims.noteLost(claim));
      } catch (error) {
        // The lease expires.
        log.warn({ err: error }, "couldn't note that the answer of an x402 payment was sent");
      }
    };
    return { ...responses.addReceipt(answer, claim, txHash), onSending: (isSent) => void noteSent(isSent) };
  }

  async function settle({ terms, time }: PaymentAttempt, claim: SignedClaim, isFirst: boolean): Promise<Settlement> {
    if (settlements === undefined) return { kind: "pending", txHash: undefined };
    return time.within((signal) => settlements.settle(claim, terms, isFirst, signal));
  }

  async function finishSettlement(
    attempt: PaymentAttempt,
    claim: ClaimRecord,
    settlement: Settlement,
    answer: Answer,
  ): Promise<Answer> {
    switch (settlement.kind) {
      case "settled":
        if (!(await claims.confirm(claim, "spent", settlement))) throw new ProofRefusedError("proof_in_use");
        return withReceipt(claim, answer, settlement.txHash);
      case "pending":
        discard(answer);
        return respondPending(attempt, claim, settlement.txHash);
      case "failed":
        await claims.release(claim);
        throw new ProofRefusedError(settlement.reason);
    }
  }

  async function respondPending(
    { charge, terms }: PaymentAttempt,
    claim: ClaimRecord,
    txHash: string | undefined,
  ): Promise<Answer> {
    await claims.endLease(claim);
    return responses.pending(charge, terms, txHash);
  }

  async function withRenewal<T>(claim: ClaimRecord, work: () => Promise<T>): Promise<T> {
    const renewal = setInterval(() => {
      claims.renew(claim).catch((error: unknown) => {
        log.warn({ err: error }, "couldn't renew an x402 payment's lease");
      });
    }, claims.renewEveryMs);
    try {
      return await work();
    } finally {
      clearInterval(renewal);
    }
  }

  return {
    async pass(context, next) {
      const charge = chargeFor(context);
      const { caller } = context;
      if (caller === undefined) return next();
      if (charge === undefined) return (await repeats.freeAnswer(context, caller)) ?? next();
      if (settings.payTo === undefined) return responses.paymentRequired(charge, undefined);
      const time = createTimeLimit(settings.timeoutMs);
      const clocks = await time.within(deps.readClocks);
      const terms = responses.termsFor(charge, context.path, clocks);
      if (terms === undefined) return responses.paymentRequired(charge, undefined);
      const attempt = { ...callOf(context, caller), context, charge, terms, clocks, time, next };
      try {
        return await admit(attempt);
      } catch (error) {
        if (error instanceof ProofRefusedError) return responses.refuse(charge, terms, error.reason, clocks);
        if (error instanceof FacilitatorUnavailableError) {
          throw new ApiError("facilitator_unavailable", { retryAfterSeconds: OUTAGE_RETRY_SECONDS, cause: error });
        }
        throw error;
      }
    },
  };
}

/** The reason why a payment failed after its call had been answered. */
interface Failed {
  failed: Refusal;
}

const answerOf = (resumed: Answer | Failed): Answer | undefined => ("failed" in resumed ? undefined : resumed);

function isSigned(claim: ClaimRecord): claim is SignedClaim {
  return claim.payment !== undefined && claim.nonce !== undefined;
}
