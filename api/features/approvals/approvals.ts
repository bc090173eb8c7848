import type { ClientSession, Connection } from "mongoose";
import { isAddressEqual } from "viem";
import type { Hex } from "viem";

import { withTransaction } from "../../db/connection.ts";
import { readPage } from "../../db/pages.ts";
import type { Caller } from "../../http/define-route.ts";
import { ApiError, validationError } from "../../http/errors.ts";
import { actsByMandate } from "../../http/page-session.ts";
import type { Clock } from "../../lib/clock.ts";
import { newId } from "../../lib/ids.ts";
import type { EventType } from "../events/model.ts";
import type { Announcement, EventRecorder } from "../events/recorder.ts";
import { liveApprovals } from "../mandates/approval-model.ts";
import type { ApprovalModel, ApprovalRecord } from "../mandates/approval-model.ts";
import { approvableBound, covers, exceeded, remainderOf } from "../mandates/ledger.ts";
import type { Remainder, Spending } from "../mandates/ledger.ts";
import type { MandateModel, MandateRecord } from "../mandates/model.ts";
import { toUsdUnits, usdText } from "../mandates/usd.ts";
import { faultsOf, signerOf } from "./signature.ts";
import type { SignedApproval } from "./signature.ts";

/** How long a wallet may take, and how long its word holds at most. */
const OPEN_MS = 24 * 3_600_000;
/** How long the record is kept after that. */
const KEPT_MS = 7 * 24 * 3_600_000;
/** Most approvals of a key that wait for a decision or for their checkout. */
const LIVE_AT_ONCE = 10;

/** What became of an approval: `expired` once its time is over, `void` once its key or mandate is. */
export const APPROVAL_STATUSES = ["open", "granted", "used", "declined", "replaced", "expired", "void"] as const;
type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

/** A checkout that needs its wallet's approval. */
export interface ApprovableCheckout {
  requestHash: `0x${string}`;
  requestJson: string;
  serviceTitle: string;
  sellerAddress: `0x${string}`;
  spending: Spending;
}

/** An approval as it stands now. */
export interface StandingApproval {
  approval: ApprovalRecord;
  status: ApprovalStatus;
}

/** The approval that a checkout waits for, and what its mandate has left. */
export interface RequestedApproval extends StandingApproval {
  left: Remainder;
}

/** Dependencies of the approvals. */
export interface ApprovalDeps {
  connection: Connection;
  approvals: ApprovalModel;
  mandates: MandateModel;
  recorder: Pick<EventRecorder, "record">;
  clock: Clock;
  /** Names of this service, with the port unless it is the default. */
  hosts: readonly string[];
}

function statusOf(approval: ApprovalRecord, mandate: MandateRecord | undefined, now: Date): ApprovalStatus {
  const { status, expiresAt } = approval;
  if (status !== "open" && status !== "granted") return status;
  const isOver = mandate === undefined || mandate.endedAt !== null || mandate.closedAt !== null;
  if (isOver || mandate.terms.notAfter <= now) return "void";
  return expiresAt <= now ? "expired" : status;
}

function announcementOf(type: EventType, approval: ApprovalRecord, occurredAt: Date): Announcement {
  const { _id, agentId, keyId, network, requestHash, bound, askedUsd, maxUsd, expiresAt } = approval;
  return {
    type,
    record: { recordId: _id, transactionId: null, orderKey: _id },
    body: {
      event: type,
      approvalId: _id,
      keyId,
      network,
      requestHash,
      bound,
      askedUsd: usdText(BigInt(askedUsd)),
      ...(maxUsd === null ? {} : { maxUsd: usdText(BigInt(maxUsd)) }),
      expiresAt: expiresAt.toISOString(),
    },
    incarnation: 0,
    recipients: [agentId],
    targets: [],
    occurredAt,
  };
}

/** The approvals of checkouts above mandates. */
export function createApprovals({ connection, approvals, mandates, recorder, clock, hosts }: ApprovalDeps) {
  const notOpen = (status: ApprovalStatus) => new ApiError("approval_not_open", { details: { status } });

  async function find(agentId: string, id: string, session?: ClientSession): Promise<StandingApproval> {
    const approval = await approvals.findOne({ _id: id, agentId }, null, { session }).lean();
    if (approval === null) throw new ApiError("not_found", { details: { approvalId: id } });
    const mandate = await mandates.findById(approval.keyId, null, { session }).lean();
    return { approval, status: statusOf(approval, mandate ?? undefined, clock.now()) };
  }

  /** Writes a decision about an approval and tells its agent. Two decisions at once conflict in the database. */
  async function decide(
    { agentId, _id }: Pick<ApprovalRecord, "agentId" | "_id">,
    allowed: readonly ApprovalStatus[],
    change: Partial<ApprovalRecord>,
    type: EventType,
  ): Promise<StandingApproval> {
    return withTransaction(connection, async (session) => {
      const { approval, status } = await find(agentId, _id, session);
      if (!allowed.includes(status)) throw notOpen(status);
      const decidedAt = clock.now();
      const decided = { ...approval, ...change, decidedAt };
      await approvals.updateOne({ _id, agentId }, { $set: { ...change, decidedAt } }, { session });
      await recorder.record([announcementOf(type, decided, decidedAt)], session);
      return { approval: decided, status: decided.status };
    });
  }

  return {
    /**
     * Asks the wallet to approve a checkout, once for each request of a key: a repeat gets the same approval.
     * @returns undefined if the checkout can go through now, because it was granted or the mandate has room again
     * @throws ApiError `mandate_exceeded` if no approval can help, `approval_limit_reached`
     */
    async ask(
      { agentId, keyId }: Caller,
      { requestHash, spending, ...shown }: ApprovableCheckout,
    ): Promise<RequestedApproval | undefined> {
      const now = clock.now();
      const id = newId("apr", now);
      return withTransaction(connection, async (session) => {
        const mandate = await mandates.findById(keyId, null, { session }).lean().orFail();
        const bound = approvableBound(mandate, spending, now);
        if (bound === undefined) return undefined;
        const left = remainderOf(mandate, now);
        const ofRequest = { agentId, keyId, requestHash };
        const last = await approvals.findOne({ ...ofRequest, live: true }, null, { session }).lean();
        if (last !== null && last.expiresAt > now) {
          if (last.status === "declined") throw exceeded(mandate, "declined", spending, now);
          if (last.status === "open") return { approval: last, status: last.status, left };
          if (covers(last, spending.usd)) return undefined;
        }
        if (last !== null) {
          // Its time is over, or the price has risen above what was granted.
          const status = last.status === "granted" && last.expiresAt > now ? "replaced" : last.status;
          await approvals.updateOne({ _id: last._id, agentId }, { $set: { status }, $unset: { live: 1 } }, { session });
        }
        // A declined one keeps its request from being asked again, and takes no place.
        const waiting = {
          ...liveApprovals({ agentId, keyId }, now),
          status: { $in: ["open" as const, "granted" as const] },
        };
        if ((await approvals.countDocuments(waiting, { session })) >= LIVE_AT_ONCE) {
          throw new ApiError("approval_limit_reached", { details: { limit: LIVE_AT_ONCE } });
        }
        const expiresAt = new Date(Math.floor((now.getTime() + OPEN_MS) / 1_000) * 1_000);
        const approval: ApprovalRecord = {
          _id: id,
          ...ofRequest,
          network: spending.network,
          ...shown,
          bound,
          askedUsd: String(spending.usd),
          status: "open",
          live: true,
          maxUsd: null,
          transactionId: null,
          createdAt: now,
          expiresAt,
          decidedAt: null,
          deleteAt: new Date(expiresAt.getTime() + KEPT_MS),
        };
        await mandates.updateOne({ _id: keyId }, { $inc: { approvalsAsked: 1 } }, { session });
        await approvals.create([approval], { session });
        await recorder.record([announcementOf("approval.requested", approval, now)], session);
        return { approval, status: approval.status, left };
      });
    },

    /** The agent's approvals, newest first; with a mandate, only those of the caller's key. */
    async list(caller: Caller, { after, limit }: { after: string | undefined; limit: number }) {
      const { agentId, keyId } = caller;
      const ofKey = actsByMandate(caller) ? { keyId } : {};
      const filter = { agentId, ...ofKey, ...(after === undefined ? {} : { _id: { $lt: after } }) };
      const { records, next } = await readPage(approvals, filter, { sort: { _id: -1 }, limit });
      const found = await mandates.find({ _id: { $in: [...new Set(records.map((record) => record.keyId))] } }).lean();
      const byKey = new Map(found.map((mandate) => [mandate._id, mandate]));
      const now = clock.now();
      const items = records.map((approval): StandingApproval => {
        return { approval, status: statusOf(approval, byKey.get(approval.keyId), now) };
      });
      return { items, next };
    },

    /**
     * Grants an approval by the wallet's signature.
     * @param isRepeat whether an earlier request with the same content may have granted it
     * @throws ApiError `not_found`, `approval_not_open`, `validation_error`, `signature_invalid`
     */
    async grant(
      { agentId, walletAddress }: Caller,
      id: string,
      { signature, ...signed }: SignedApproval & { signature: Hex },
      isRepeat: boolean,
    ): Promise<StandingApproval> {
      const { approval, status } = await find(agentId, id);
      const change = {
        status: "granted" as const,
        maxUsd: String(toUsdUnits(signed.maxUsd)),
        expiresAt: new Date(signed.expiresAt * 1_000),
      };
      const isGranted =
        status === "granted" &&
        approval.maxUsd === change.maxUsd &&
        approval.expiresAt.getTime() === change.expiresAt.getTime();
      if (isRepeat && isGranted) return { approval, status };
      if (status !== "open") throw notOpen(status);
      const faults = faultsOf(signed, approval, { hosts, now: clock.now() });
      if (faults.length > 0) throw validationError(faults);
      const signer = await signerOf(id, signed, signature);
      if (signer === undefined || !isAddressEqual(signer, walletAddress)) throw new ApiError("signature_invalid");
      return decide(approval, ["open"], change, "approval.granted");
    },

    /**
     * Declines an approval, or takes it back before it is used. Until its time is over, the same request isn't asked again.
     * A repeat changes nothing.
     * @throws ApiError `not_found`, `approval_not_open`
     */
    async decline({ agentId }: Caller, id: string): Promise<StandingApproval> {
      const found = await find(agentId, id);
      if (found.status === "declined") return found;
      return decide(found.approval, ["open", "granted"], { status: "declined" }, "approval.declined");
    },
  };
}

/** The approvals of checkouts above mandates. */
export type Approvals = ReturnType<typeof createApprovals>;
