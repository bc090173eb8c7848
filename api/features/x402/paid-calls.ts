import { setTimeout as sleep } from "node:timers/promises";

import { ApiError } from "../../http/errors.ts";
import type { RouteResponse } from "../../http/pipeline.ts";
import type { Logger } from "../../lib/logger.ts";
import { pauseAfter } from "../../lib/retry.ts";
import type { BalanceCheck } from "./settling/balance-check.ts";
import type { Claims } from "./settling/claims.ts";
import { discard } from "./offer/payment-responses.ts";
import type { PaymentResponses } from "./offer/payment-responses.ts";
import type { ClaimRecord } from "./model.ts";
import { ProofRefusedError } from "./offer/proof.ts";
import type { Proof, Refusal } from "./offer/proof.ts";
import type { Repeats } from "./repeats.ts";
import { isSigned } from "./settling/settlement.ts";
import type { Settlement, Settlements, SignedClaim } from "./settling/settlement.ts";
import type { PaymentAttempt } from "./payment-attempt.ts";

/** Dependencies of paid calls. */
interface PaidCallsDeps {
  responses: PaymentResponses;
  repeats: Repeats;
  claims: Claims;
  balance: BalanceCheck;
  /** Undefined if signed payments can't be settled. */
  settlements: Settlements | undefined;
  log: Logger;
}

/** The reason why a payment failed after its call had been answered. */
export interface Failed {
  failed: Refusal;
}

const FIRST_ERROR = 400;
const FIRST_SERVER_ERROR = 500;
/** First and longest pause between checks whether another request has sent the answer, in milliseconds. */
const SENDING_PAUSE = { minMs: 20, maxMs: 200 };

/** Runs calls whose payments are reserved, settles the payments and delivers the responses. */
export class PaidCalls {
  readonly #deps: PaidCallsDeps;

  constructor(deps: PaidCallsDeps) {
    this.#deps = deps;
  }

  /** Runs the call of a reserved payment, and takes the payment if the answer is below 400. */
  async run(attempt: PaymentAttempt, claim: ClaimRecord): Promise<RouteResponse> {
    const { claims } = this.#deps;
    return this.#withRenewal(claim, async () => {
      const earlier = claim.runs > 1 ? await claims.answerOf(claim) : undefined;
      const answer = earlier ?? (await this.#runCall(attempt, claim));
      if (answer.status >= FIRST_ERROR) {
        await this.#releaseClaim(claim);
        return answer;
      }
      const storable = attempt.context.route.storesResponse ? answer : undefined;
      try {
        if (isSigned(claim)) {
          if (!(await claims.beginSettling(claim, storable))) throw new ProofRefusedError("proof_in_use");
          return await this.#finishSettlement(attempt, claim, await this.#settle(attempt, claim, true), answer);
        }
        if (storable !== undefined) await claims.keepAnswer(claim, storable);
        const { txHash = "", position = 0 } = claim;
        if (!(await claims.confirm(claim, "spent", { txHash, position }))) throw new ProofRefusedError("proof_in_use");
        return this.#withReceipt(claim, answer, txHash);
      } catch (error) {
        discard(answer);
        throw error;
      }
    });
  }

  /** Continues to settle a payment whose call has been answered. Releases the claim if the settlement failed. */
  async resume(attempt: PaymentAttempt, found: ClaimRecord, proof?: Proof): Promise<RouteResponse | Failed> {
    const { claims, responses } = this.#deps;
    const { charge, terms } = attempt;
    if (found.state === "settled") return this.deliverResponse(attempt, found, proof);
    const claim = await claims.takeOver(found._id);
    if (claim === undefined || !isSigned(claim))
      return responses.pending(charge, terms, found.payment?.txHashes.at(-1));
    return this.#withRenewal(claim, async () => {
      const settlement = await this.#settle(attempt, claim, false);
      if (settlement.kind === "failed") {
        await claims.release(claim);
        return { failed: settlement.reason };
      }
      if (settlement.kind === "pending") return this.#respondPending(attempt, claim, settlement.txHash);
      const { txHash } = settlement;
      // Another process took over the claim. It records the payment, and the next request gets the answer.
      if (!(await claims.confirm(claim, "settled", settlement))) return responses.pending(charge, terms, txHash);
      return this.deliverResponse(attempt, { ...claim, txHash }, proof);
    });
  }

  /**
   * Sends the stored response of a confirmed payment.
   * @param proof undefined if the request has none, or if it isn't the proof that paid for the answer
   */
  async deliverResponse(attempt: PaymentAttempt, found: ClaimRecord, proof?: Proof): Promise<RouteResponse> {
    const { claims, repeats } = this.#deps;
    const kept = await claims.answerOf(found);
    const claim = await attempt.time.within((signal) => this.#claimResponse(found, signal));
    if (claim === undefined) {
      const sent = proof === undefined ? undefined : await repeats.sentAnswer(attempt, [found], proof);
      if (sent === undefined) throw new ProofRefusedError("proof_already_used");
      return sent;
    }
    const { txHash = "" } = claim;
    if (kept !== undefined) return this.#withReceipt(claim, kept, txHash);
    // The answer couldn't be stored. A read can run again; other calls have already taken effect.
    if (attempt.context.route.readsOnly) return this.#withReceipt(claim, await attempt.next(), txHash);
    await claims.noteSent(claim);
    throw new ApiError("already_processed");
  }

  /** Runs the call. If it throws, the claim is released, or its lease ends so that the next run can continue. */
  async #runCall({ context, terms, time, next }: PaymentAttempt, claim: ClaimRecord): Promise<RouteResponse> {
    const { balance, claims, log } = this.#deps;
    if (context.headers["idempotency-key"] === undefined) {
      context.operation.resumeFrom({ startedAt: claim.startedAt, seed: claim.seed, isRepeat: claim.runs > 1 });
    }
    let hasBegun = false;
    try {
      // An earlier run may have taken effect, so a repeated run isn't refused.
      if (isSigned(claim) && claim.runs === 1) {
        await time.within((signal) => balance.requireFunds(claim, signal, terms.leadSeconds));
      }
      hasBegun = true;
      return await next();
    } catch (error) {
      // Only a refusal proves that the call had no effect. After an outage, the next run must find the claim of this one.
      const isUndone = !hasBegun || (error instanceof ApiError && error.status < FIRST_SERVER_ERROR);
      // If this fails too, the lease expires.
      await (isUndone ? this.#releaseClaim(claim) : claims.endLease(claim)).catch((failure: unknown) => {
        log.warn({ err: failure }, "couldn't release an x402 payment");
      });
      throw error;
    }
  }

  /** Frees a payment whose call failed. After a repeated run only the lease ends: an earlier run may have taken effect. */
  #releaseClaim(claim: ClaimRecord): Promise<void> {
    const { claims } = this.#deps;
    return claim.runs > 1 ? claims.endLease(claim) : claims.release(claim);
  }

  async #settle({ terms, time }: PaymentAttempt, claim: SignedClaim, isFirst: boolean): Promise<Settlement> {
    const { settlements } = this.#deps;
    if (settlements === undefined) return { kind: "pending", txHash: undefined };
    return time.within((signal) => settlements.settle(claim, terms, isFirst, signal));
  }

  async #finishSettlement(
    attempt: PaymentAttempt,
    claim: ClaimRecord,
    settlement: Settlement,
    answer: RouteResponse,
  ): Promise<RouteResponse> {
    const { claims } = this.#deps;
    switch (settlement.kind) {
      case "settled":
        if (!(await claims.confirm(claim, "spent", settlement))) throw new ProofRefusedError("proof_in_use");
        return this.#withReceipt(claim, answer, settlement.txHash);
      case "pending":
        discard(answer);
        return this.#respondPending(attempt, claim, settlement.txHash);
      case "failed":
        await claims.release(claim);
        throw new ProofRefusedError(settlement.reason);
    }
  }

  async #respondPending(
    { charge, terms }: PaymentAttempt,
    claim: ClaimRecord,
    txHash: string | undefined,
  ): Promise<RouteResponse> {
    const { claims, responses } = this.#deps;
    await claims.endLease(claim);
    return responses.pending(charge, terms, txHash);
  }

  /** Waits while another request sends the answer; undefined once sent. @throws ProofRefusedError on a timeout */
  async #claimResponse(found: ClaimRecord, signal: AbortSignal): Promise<ClaimRecord | undefined> {
    const { claims } = this.#deps;
    const end = performance.now() + claims.patienceMs;
    for (let looks = 0; ; looks += 1) {
      const taken = await claims.claimResponse(found._id);
      if (typeof taken !== "string") return taken;
      if (taken === "sent") return undefined;
      if (signal.aborted || performance.now() > end) throw new ProofRefusedError("proof_in_use");
      await sleep(pauseAfter(looks, SENDING_PAUSE));
    }
  }

  /** The answer of a spent payment, with its receipt. Until it is sent, the lease stops other requests with the same proof. */
  #withReceipt(claim: ClaimRecord, answer: RouteResponse, txHash: string): RouteResponse {
    const { claims, responses, log } = this.#deps;
    const noteSent = async (isSent: Promise<boolean>): Promise<void> => {
      try {
        const wasSent = await this.#withRenewal(claim, () => isSent);
        await (wasSent ? claims.noteSent(claim) : claims.noteLost(claim));
      } catch (error) {
        // The lease expires.
        log.warn({ err: error }, "couldn't note that the answer of an x402 payment was sent");
      }
    };
    return { ...responses.addReceipt(answer, claim, txHash), onSending: (isSent) => void noteSent(isSent) };
  }

  async #withRenewal<T>(claim: ClaimRecord, work: () => Promise<T>): Promise<T> {
    const { claims, log } = this.#deps;
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
}
