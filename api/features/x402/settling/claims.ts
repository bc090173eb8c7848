import { randomBytes } from "node:crypto";

import type { ClientSession, Connection } from "mongoose";

import type { CallClass, Network } from "../../../config/constants.ts";
import { isDuplicateKey, withTransaction } from "../../../db/connection.ts";
import { fromNow, isFree, isTaken, released, renewed, taken } from "../../../db/leases.ts";
import { isStorable, fromStoredResponse, toStoredResponse } from "../../../http/stored-response.ts";
import type { RouteResponse } from "../../../http/pipeline.ts";
import type { MandateLedger } from "../../mandates/ledger.ts";
import { UNPAID_STATES } from "../model.ts";
import type { ClaimModel, ClaimRecord, KeptAnswerModel } from "../model.ts";

/** A payment to reserve for a request. */
export type NewClaim = Omit<
  ClaimRecord,
  "_id" | "state" | "responsePending" | "owner" | "leaseEndsAt" | "startedAt" | "seed" | "runs" | "spentAt" | "mandate"
>;

/** Adds prepaid calls to an agent, in the transaction that spends their payment. */
export type CreditCalls = (agentId: string, kind: CallClass, calls: number, session: ClientSession) => Promise<void>;

/** The location of a payment on chain. */
export interface Place {
  txHash: string;
  /** Position of its transfer among the logs of the receipt. */
  position: number;
}

/** Durations of claims. Tests shorten the lease and lengthen the patience. */
export interface ClaimTimings {
  /** How long a payment stays blocked after the process that worked on it was killed, in milliseconds. */
  x402LeaseMs: number;
  /** How long a payment waits for other requests of its wallet, and for a recent enough block, in milliseconds. */
  x402PatienceMs: number;
}

export const CLAIM_TIMINGS: ClaimTimings = { x402LeaseMs: 15_000, x402PatienceMs: 5_000 };

/** How long an answer is stored for repeats of its call with the same payment. */
const ANSWER_KEPT_MS = 24 * 3_600_000;
const RANDOM_BYTES = 16;
/** Attempts to write a claim that another process creates or deletes at the same time. */
const CLAIM_ATTEMPTS = 3;
/** Maximum lag of a chain's server, in milliseconds. */
const RECENT_MS = 60_000;

/** Dependencies of the claims. */
interface ClaimsDeps {
  connection: Connection;
  claims: ClaimModel;
  answers: KeptAnswerModel;
  credit: CreditCalls;
  ledger: MandateLedger;
  /** Called once for each payment that is confirmed. */
  onPaid: (claim: ClaimRecord) => void;
  now: () => Date;
  timings: ClaimTimings;
}

const PIPELINE = { updatePipeline: true } as const;
const RETURN_AFTER = { returnDocument: "after", lean: true, updatePipeline: true } as const;

const HAS_NO_LEASE = isFree("leaseEndsAt");
/** A reservation ends with its lease: other payments no longer count it, so it must not settle after that. */
const IS_LIVE = { $or: [{ $eq: ["$state", "settling"] }, isTaken("leaseEndsAt")] };

const token = (): string => randomBytes(RANDOM_BYTES).toString("hex");

/**
 * The claims on payments. All their dates are of the database's clock, so all processes agree on the owner of a claim. Writes
 * are acknowledged by a majority.
 */
export class Claims {
  /** Interval of lease renewals, in milliseconds. */
  readonly renewEveryMs: number;
  /** How long a request waits for another one with the same payment, in milliseconds. */
  readonly patienceMs: number;
  readonly #connection: Connection;
  readonly #claims: ClaimModel;
  readonly #answers: KeptAnswerModel;
  readonly #credit: CreditCalls;
  readonly #ledger: MandateLedger;
  readonly #onPaid: (claim: ClaimRecord) => void;
  readonly #now: () => Date;
  readonly #leaseMs: number;

  constructor({ connection, claims, answers, credit, ledger, onPaid, now, timings }: ClaimsDeps) {
    const { x402LeaseMs, x402PatienceMs } = timings;
    this.#connection = connection;
    this.#claims = claims;
    this.#answers = answers;
    this.#credit = credit;
    this.#ledger = ledger;
    this.#onPaid = onPaid;
    this.#now = now;
    this.#leaseMs = x402LeaseMs;
    this.renewEveryMs = x402LeaseMs / 3;
    this.patienceMs = x402PatienceMs;
  }

  /**
   * Reserves a payment for a request. Returns the claim if this call now owns it, or undefined if the payment is already
   * used. Takes over a claim of the same agent whose process was killed before the call was answered.
   * @param mandateId the mandate of the request's key, which the payment counts against; undefined without one
   * @throws ApiError `mandate_exceeded`
   */
  async reserve(claim: NewClaim, mandateId?: string): Promise<ClaimRecord | undefined> {
    const owner = token();
    for (let attempt = 1; ; attempt += 1) {
      try {
        const record = await this.#reserveOnce(claim, owner, mandateId);
        return record?.owner === owner ? record : undefined;
      } catch (error) {
        // Another process has created the same claim, the transfer's authorisation was claimed by itself, or the key has
        // given the payment's id to another payment.
        if (!isDuplicateKey(error)) throw error;
        if (attempt === CLAIM_ATTEMPTS) return undefined;
      }
    }
  }

  async findByNonce(network: Network, asset: string, payer: string, nonce: string): Promise<ClaimRecord | null> {
    return this.#claims.findOne({ network, token: asset, payer, nonce }).lean();
  }

  /** The payment that a key has given an id. */
  async findByPaymentId(keyId: string, paymentId: string): Promise<ClaimRecord | null> {
    return this.#claims.findOne({ keyId, paymentId }).lean();
  }

  async findByTransfer(network: Network, txHash: string): Promise<ClaimRecord[]> {
    return this.#claims.find({ network, txHash }).lean();
  }

  /** The claim of this request whose answer is outstanding because its settlement was pending. */
  async findAwaitingResponse(agentId: string, requestHash: string): Promise<ClaimRecord | null> {
    return this.#claims
      .findOne({ agentId, requestHash, responsePending: true, state: { $in: ["settling", "settled"] } })
      .lean();
  }

  /** One spent claim whose answer was lost with its process or connection. */
  async findUndelivered(all: readonly ClaimRecord[]): Promise<ClaimRecord | undefined> {
    const due = all
      .filter(({ state, responsePending }) => state === "spent" && responsePending === true)
      .map(({ _id }) => _id);
    if (due.length === 0) return undefined;
    return (await this.#claims.findOne({ _id: { $in: due }, $expr: HAS_NO_LEASE }).lean()) ?? undefined;
  }

  /** The claim that pays for an operation, if its call has been answered. */
  async findAnswered(operationId: string, agentId: string, requestHash: string): Promise<ClaimRecord | null> {
    return this.#claims.findOne({ operationId, agentId, requestHash, state: { $ne: "reserved" } }).lean();
  }

  /** Claims without a live lease whose settlement has no known outcome, longest abandoned first. */
  async findAbandoned(limit: number): Promise<ClaimRecord[]> {
    return this.#claims.find({ state: "settling", $expr: HAS_NO_LEASE }).sort({ leaseEndsAt: 1 }).limit(limit).lean();
  }

  /**
   * The payer's other claims for signed payments that aren't known to be on chain. Includes payments confirmed so recently
   * that a server may not show them. A reservation counts until its lease ends.
   */
  async findOtherOpenPayments({ _id, network, token: asset, payer }: ClaimRecord): Promise<ClaimRecord[]> {
    const signed = { network, token: asset, payer, payment: { $exists: true } };
    const unpaid = await this.#claims.find({ ...signed, state: { $in: [...UNPAID_STATES] }, $expr: IS_LIVE }).lean();
    // After the unpaid ones: a claim that is confirmed in between is in both results.
    const isRecent = { $gt: ["$spentAt", { $subtract: ["$$NOW", RECENT_MS] }] };
    const confirmed = await this.#claims.find({ ...signed, $expr: isRecent }).lean();
    const all = new Map([...unpaid, ...confirmed].map((claim) => [claim._id, claim]));
    // Not part of the query: with it the database might scan all claims by id.
    all.delete(_id);
    return [...all.values()];
  }

  /** Does nothing for a reservation whose lease has ended. */
  async renew({ _id, owner }: ClaimRecord): Promise<void> {
    await this.#claims.updateOne({ _id, owner, $expr: IS_LIVE }, renewed("leaseEndsAt", this.#leaseMs), PIPELINE);
  }

  /** Frees a payment whose call wasn't answered or that can no longer settle. */
  async release({ _id, owner, mandate }: ClaimRecord): Promise<void> {
    const unpaid = { _id, owner, state: { $in: [...UNPAID_STATES] } };
    const isDeleted =
      mandate === undefined
        ? (await this.#claims.deleteOne(unpaid)).deletedCount === 1
        : await withTransaction(this.#connection, async (session) => {
            const deleted = await this.#claims.findOneAndDelete(unpaid, { session }).lean();
            if (deleted?.mandate?.counted === true) await this.#ledger.release(deleted.mandate, session);
            return deleted !== null;
          });
    if (isDeleted) await this.#answers.deleteOne({ _id });
  }

  /**
   * Takes back what reservations count whose process was killed: they no longer settle. A request that goes on with one
   * counts it again.
   */
  async releaseCounts(limit: number): Promise<void> {
    const stale = { state: "reserved", "mandate.counted": true, $expr: HAS_NO_LEASE } as const;
    for (const { _id } of await this.#claims.find(stale, { _id: 1 }).limit(limit).lean()) {
      await withTransaction(this.#connection, async (session) => {
        const released = { $set: { "mandate.counted": false } };
        const claim = await this.#claims.findOneAndUpdate({ ...stale, _id }, released, { session }).lean();
        if (claim?.mandate !== undefined) await this.#ledger.release(claim.mandate, session);
      });
    }
  }

  /**
   * Records that the call has been answered.
   * @param answer stored in case the settlement outlasts the request; undefined if it is secret
   * @returns false if the lease has ended: another request may hold the claim and answer the caller
   */
  async beginSettling(claim: ClaimRecord, answer: RouteResponse | undefined): Promise<boolean> {
    const { _id, owner } = claim;
    if (answer !== undefined) await this.keepAnswer(claim, answer);
    const { matchedCount } = await this.#claims.updateOne(
      { _id, owner, state: "reserved", $expr: IS_LIVE },
      taken("leaseEndsAt", this.#leaseMs, { state: "settling", responsePending: true }),
      PIPELINE,
    );
    return matchedCount === 1;
  }

  /** Takes over a claim with an unknown outcome; undefined while its lease is live, or once it is confirmed. */
  async takeOver(_id: string): Promise<ClaimRecord | undefined> {
    const claim = await this.#claims.findOneAndUpdate(
      { _id, state: "settling", $expr: HAS_NO_LEASE },
      taken("leaseEndsAt", this.#leaseMs, { owner: token() }),
      RETURN_AFTER,
    );
    return claim ?? undefined;
  }

  /**
   * Ends the lease of an unconfirmed claim, so that the next request can continue it. The lease ends now, not earlier: the
   * worker checks the longest abandoned claims first, and this one has had its turn.
   */
  async endLease({ _id, owner }: ClaimRecord): Promise<void> {
    const unpaid = { _id, owner, state: { $in: [...UNPAID_STATES] } };
    await this.#claims.updateOne(unpaid, released("leaseEndsAt"), PIPELINE);
  }

  /** Records a transaction that may settle the payment. */
  async noteTransaction({ _id }: ClaimRecord, txHash: string): Promise<void> {
    await this.#claims.updateOne({ _id }, { $addToSet: { "payment.txHashes": txHash } });
  }

  /**
   * Records a confirmed payment, once, and credits its pack.
   * @param state `spent` if this request answers the caller, `settled` if a later one does
   * @returns false if another process has recorded it or taken over the claim, or if the reservation has ended
   */
  async confirm(claim: ClaimRecord, state: "settled" | "spent", place: Place): Promise<boolean> {
    const isConfirmed = await this.#noteConfirmed(claim, state, place);
    if (isConfirmed) this.#onPaid(claim);
    return isConfirmed;
  }

  /**
   * Claims the right to answer the caller of a confirmed payment.
   * @returns `sent` or `sending` if another request has sent the answer, or may be sending it
   */
  async claimResponse(_id: string): Promise<ClaimRecord | "sent" | "sending"> {
    const isWaiting = { $or: [{ $eq: ["$state", "settled"] }, { $and: [{ $eq: ["$state", "spent"] }, HAS_NO_LEASE] }] };
    const claim = await this.#claims.findOneAndUpdate(
      { _id, responsePending: true, $expr: isWaiting },
      taken("leaseEndsAt", this.#leaseMs, { state: "spent", owner: token() }),
      RETURN_AFTER,
    );
    if (claim !== null) return claim;
    return (await this.#claims.exists({ _id, responsePending: true })) === null ? "sent" : "sending";
  }

  /** Records that the answer was sent. From now on the payment is accepted only for repeats of its call. */
  async noteSent({ _id, owner }: ClaimRecord): Promise<void> {
    await this.#claims.updateOne({ _id, owner, state: "spent" }, { $unset: { responsePending: 1 } });
  }

  /** Ends the lease after the connection broke before the answer was sent, so that a repeat gets the answer. */
  async noteLost({ _id, owner }: ClaimRecord): Promise<void> {
    await this.#claims.updateOne({ _id, owner, state: "spent" }, released("leaseEndsAt"), PIPELINE);
  }

  /** Stores the answer of a call. */
  async keepAnswer({ _id, requestHash }: ClaimRecord, answer: RouteResponse): Promise<void> {
    if (!isStorable(answer)) return;
    const expiresAt = new Date(this.#now().getTime() + ANSWER_KEPT_MS);
    await this.#answers.replaceOne({ _id }, { requestHash, ...toStoredResponse(answer), expiresAt }, { upsert: true });
  }

  /** The unexpired stored answer of the claim's request. MongoDB deletes answers up to a minute after they expire. */
  async answerOf({ _id, requestHash }: ClaimRecord): Promise<RouteResponse | undefined> {
    const alive = { _id, requestHash, expiresAt: { $gt: this.#now() } };
    const kept = await this.#answers.findOne(alive).lean();
    return kept === null ? undefined : fromStoredResponse(kept);
  }

  /** Writes a reservation, and counts it against its mandate in the same database transaction. */
  async #reserveOnce(claim: NewClaim, owner: string, mandateId: string | undefined): Promise<ClaimRecord | null> {
    if (mandateId === undefined) {
      const record = await this.#write(claim, owner);
      if (record?.owner !== owner || record.mandate === undefined) return record;
      // Another key of the agent had reserved the payment and wasn't served.
    }
    return withTransaction(this.#connection, async (session) => {
      const record = await this.#write(claim, owner, session);
      if (record?.owner !== owner) return record;
      if (record.mandate?.counted === true) await this.#ledger.release(record.mandate, session);
      const { _id, network, amount } = record;
      if (mandateId === undefined) {
        await this.#claims.updateOne({ _id }, { $unset: { mandate: 1 } }, { session });
        return record;
      }
      const mandate = await this.#ledger.reserve(mandateId, { usd: BigInt(amount), network }, this.#now(), session);
      await this.#claims.updateOne({ _id }, { $set: { mandate } }, { session });
      return { ...record, mandate };
    });
  }

  async #write(claim: NewClaim, owner: string, session?: ClientSession): Promise<ClaimRecord | null> {
    const isNew = { $eq: [{ $type: "$state" }, "missing"] };
    const isResumable = {
      $and: [{ $eq: ["$state", "reserved"] }, { $eq: ["$agentId", claim.agentId] }, HAS_NO_LEASE],
    };
    const isSameRequest = { $eq: ["$requestHash", claim.requestHash] };
    const fields = { ...literal(claim), state: "reserved", owner, leaseEndsAt: fromNow(this.#leaseMs) };
    const begun = { startedAt: "$$NOW", seed: token(), runs: 1 };
    const again = { startedAt: "$startedAt", seed: "$seed", runs: { $add: ["$runs", 1] } };
    const resumed = {
      $mergeObjects: [{ _id: "$_id", mandate: "$mandate" }, fields, { $cond: [isSameRequest, again, begun] }],
    };
    const fresh = { $mergeObjects: [{ _id: `clm_${token()}` }, fields, begun] };
    return this.#claims.findOneAndUpdate(
      identityOf(claim),
      [{ $replaceWith: { $cond: [isNew, fresh, { $cond: [isResumable, resumed, "$$ROOT"] }] } }],
      { ...RETURN_AFTER, upsert: true, ...(session === undefined ? {} : { session }) },
    );
  }

  async #noteConfirmed(
    { _id, owner, agentId, pack }: ClaimRecord,
    state: "settled" | "spent",
    place: Place,
  ): Promise<boolean> {
    const unconfirmed = { _id, owner, state: { $in: [...UNPAID_STATES] }, $expr: IS_LIVE };
    const fields = { state, txHash: place.txHash.toLowerCase(), position: place.position };
    // Until the answer is sent, another request may have to send it.
    const change = taken("leaseEndsAt", this.#leaseMs, { ...literal(fields), spentAt: "$$NOW", responsePending: true });
    if (pack === undefined) return (await this.#claims.updateOne(unconfirmed, change, PIPELINE)).modifiedCount === 1;
    return withTransaction(this.#connection, async (session) => {
      const { modifiedCount } = await this.#claims.updateOne(unconfirmed, change, { ...PIPELINE, session });
      if (modifiedCount === 1) await this.#credit(agentId, pack.class, pack.calls, session);
      return modifiedCount === 1;
    });
  }
}

/** Identifying fields of a payment: its authorisation, or else its transfer. */
function identityOf(claim: NewClaim): Record<string, unknown> {
  const { network, token: asset, payer, nonce, txHash, position } = claim;
  if (nonce === undefined) return { network, txHash, position };
  return { network, token: asset, payer, nonce };
}

/** Wraps values in `$literal`, because an update pipeline evaluates strings that begin with `$`. */
function literal(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, { $literal: value }]));
}
