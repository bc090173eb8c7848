import { zeroHash } from "viem";

import { byChainClock } from "../../chain/chain-time.ts";
import type { ChainClient } from "../../chain/chain-client.ts";
import { moveCall } from "../../chain/calldata.ts";
import type { ContractCall } from "../../chain/calldata.ts";
import { EVIDENCE_LIMITS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { ApiError, validationError } from "../../http/errors.ts";
import type { Operation } from "../../http/operation.ts";
import { criteriaDocumentSchema, hashCriteria } from "../criteria/document.ts";
import { callTarget } from "../transactions/actions.ts";
import { windowEnd } from "../transactions/deadlines.ts";
import { transactionIdOf } from "../transactions/dispute-id.ts";
import type { Reading, TransactionReader } from "../transactions/reader.ts";
import type { DisputeStore } from "./dispute-store.ts";
import { RULING_DUE_AT } from "./dispute-store.ts";
import type { DisputeModel, DisputeRecord, EvidenceItem } from "./model.ts";
import type { RulingProgress } from "./ports.ts";
import type { DisputeReading } from "./presenter.ts";
import type { DisputeBody, EvidenceBody } from "./schemas.ts";

/** Dependencies of the parties' side of disputes. */
export interface DisputeServiceOptions {
  disputes: DisputeModel;
  store: DisputeStore;
  reader: TransactionReader;
  chains: Readonly<Record<Network, Pick<ChainClient, "deployment" | "agreementIsSigned">>>;
  progress: Pick<RulingProgress, "of">;
  now: () => Date;
}

/** An addition of a party to its dispute. */
interface Addition {
  reason?: string;
  items: EvidenceItem[];
  isComplete: boolean;
  criteriaJson?: string;
}

/** A dispute with the reading of its transaction. */
interface Opened {
  dispute: DisputeRecord;
  reading: Reading;
}

const MILLISECONDS = 1_000;
const OFFER_MAX_AHEAD_SECONDS = 2_592_000;

/** The error for actions that need an open dispute. @param openDispute the call that opens one, if the caller may */
function notOpen({ record, indexedBlock }: Reading, openDispute: ContractCall | null = null): ApiError {
  return new ApiError("dispute_not_open_on_chain", { details: { status: record.status, openDispute, indexedBlock } });
}

/** The parties' actions on their disputes. */
export class DisputeService {
  readonly #deps: DisputeServiceOptions;

  constructor(deps: DisputeServiceOptions) {
    this.#deps = deps;
  }

  /** The buyer says what is wrong. The dispute itself was opened on chain. */
  async create(agentId: string, body: DisputeBody, operation: Operation, signal: AbortSignal): Promise<DisputeReading> {
    const { transactionId, reason, evidence, criteria } = body;
    const reading = await this.#deps.reader.read(transactionId, agentId, { signal });
    const { role } = reading;
    if (role !== "buyer") throw new ApiError("wrong_role", { details: { role, required: "buyer" } });
    const opened = await this.#ofTransaction(reading);
    if (operation.isRepeat && opened.dispute.reason?.text === reason)
      return this.#present(opened.dispute, opened.reading);
    const criteriaJson = this.#suppliedCriteria(criteria, opened.reading);
    const firstId = operation.newId("evi", this.#deps.now());
    const items = evidence.map((item, index) =>
      this.#newItem(item, `${firstId}${String(index).padStart(2, "0")}`, reading),
    );
    const addition = { reason, items, isComplete: false, ...(criteriaJson === undefined ? {} : { criteriaJson }) };
    return this.#present(await this.#add(opened, addition), opened.reading);
  }

  async read(agentId: string, disputeId: string, signal: AbortSignal): Promise<DisputeReading> {
    const { dispute, reading } = await this.#byId(agentId, disputeId, signal);
    return this.#present(dispute, reading);
  }

  async submitEvidence(
    agentId: string,
    disputeId: string,
    body: EvidenceBody,
    operation: Operation,
    signal: AbortSignal,
  ): Promise<DisputeReading> {
    return this.#addEvidence(await this.#byId(agentId, disputeId, signal), body, operation);
  }

  /** The same, by the transaction. */
  async submitEvidenceOf(
    agentId: string,
    transactionId: string,
    body: EvidenceBody,
    operation: Operation,
    signal: AbortSignal,
  ): Promise<DisputeReading> {
    const reading = await this.#deps.reader.read(transactionId, agentId, { signal });
    return this.#addEvidence(await this.#ofTransaction(reading), body, operation);
  }

  /** Keeps a party's signed offer; a newer one replaces it. */
  async offer(
    agentId: string,
    disputeId: string,
    offered: { buyerPercent: number; deadline: number; signature: `0x${string}` },
    signal: AbortSignal,
  ): Promise<DisputeReading> {
    const { dispute, reading } = await this.#byId(agentId, disputeId, signal);
    const { record, role, chainNow } = reading;
    const { buyerPercent, deadline, signature } = offered;
    const latest = chainNow + OFFER_MAX_AHEAD_SECONDS;
    if (deadline <= chainNow || deadline > latest) {
      const message = `Must be after now (${chainNow}) and at most ${latest}`;
      throw validationError([{ path: "body.deadline", message }]);
    }
    if (record.status !== "disputed") {
      throw notOpen(reading);
    }
    const wallet = role === "buyer" ? record.buyerAddress : record.sellerAddress;
    const agreement = { escrowId: record.escrowId, buyerPercent, deadline };
    if (!(await this.#deps.chains[record.network].agreementIsSigned(wallet, agreement, signature))) {
      throw new ApiError("signature_invalid");
    }
    const offeredAt = this.#deps.now();
    const kept = await this.#deps.disputes
      .findOneAndUpdate(
        { _id: dispute._id },
        { $set: { [`offers.${role}`]: { buyerPercent, deadline, signature, offeredAt }, updatedAt: offeredAt } },
        { returnDocument: "after" },
      )
      .lean();
    return this.#present(kept ?? dispute, reading);
  }

  /** The ruling document, and the hash that the chain has. */
  async ruling(agentId: string, disputeId: string, signal: AbortSignal) {
    const { dispute, reading } = await this.#byId(agentId, disputeId, signal);
    if (dispute.ruling === null) throw new ApiError("ruling_not_available");
    const { documentJson, rationaleHash } = dispute.ruling;
    // The chain has zero for an agreement and for the timeout.
    const onChain = reading.record.escrow?.rationaleHash ?? null;
    return {
      disputeId,
      document: JSON.parse(documentJson) as Record<string, unknown>,
      rationaleHash,
      onChain: onChain === zeroHash ? null : onChain,
    };
  }

  /** Now by the clock of the deal's chain, because the evidence period is the chain's. */
  #chainMoment({ chainNow }: Pick<Reading, "chainNow">): Date {
    return byChainClock(this.#deps.now(), chainNow);
  }

  /** The dispute of a transaction. */
  async #ofTransaction(reading: Reading): Promise<Opened> {
    const { record, role, chainNow } = reading;
    const disputedAt = record.escrow?.disputedAt ?? null;
    if (disputedAt === null) {
      const end = windowEnd(record);
      const canOpen = record.status === "delivered" && role === "buyer" && end !== null && chainNow <= end;
      const openDispute = canOpen ? moveCall(callTarget(record), "openDispute", record.escrowId) : null;
      throw notOpen(reading, openDispute);
    }
    return { reading, dispute: await this.#deps.store.open(record, disputedAt) };
  }

  /** A dispute by its id, for a party. To others it doesn't exist. */
  async #byId(agentId: string, disputeId: string, signal?: AbortSignal): Promise<Opened> {
    const transactionId = transactionIdOf(disputeId);
    if (transactionId === undefined) throw new ApiError("not_found");
    const reading = await this.#deps.reader.read(transactionId, agentId, { signal });
    const disputedAt = reading.record.escrow?.disputedAt ?? null;
    // A dispute that a reorganisation has removed can still be read.
    const dispute =
      disputedAt === null
        ? await this.#deps.disputes.findById(disputeId).lean()
        : await this.#deps.store.open(reading.record, disputedAt);
    if (dispute === null) throw new ApiError("not_found");
    return { dispute, reading };
  }

  async #present(dispute: DisputeRecord, reading: Reading): Promise<DisputeReading> {
    const { record, indexedBlock, chainNow } = reading;
    const resolverContract = this.#deps.chains[record.network].deployment.resolver;
    const transaction = dispute.ruling === null ? undefined : await this.#deps.progress.of(dispute._id);
    return { dispute, record, indexedBlock, chainNow, resolverContract, transaction };
  }

  /** The criteria document that a party supplies, as it is stored. */
  #suppliedCriteria(document: Record<string, unknown> | undefined, { record }: Reading): string | undefined {
    if (document === undefined) return undefined;
    if (record.criteriaJson !== null) {
      throw validationError([{ path: "body.criteria", message: "The criteria of a checkout are known" }]);
    }
    const parsed = criteriaDocumentSchema.safeParse(document);
    if (!parsed.success) {
      throw validationError(
        parsed.error.issues.map(({ path, message }) => ({ path: ["body.criteria", ...path].join("."), message })),
      );
    }
    const hash = hashCriteria(parsed.data);
    if (hash === record.criteriaHash) return JSON.stringify(parsed.data);
    throw new ApiError("criteria_hash_mismatch", { details: { hash, criteriaHash: record.criteriaHash } });
  }

  /** Why nothing was added: the first rule that the record breaks. */
  #refusal(dispute: DisputeRecord, reading: Reading, { reason, items }: Addition): ApiError {
    const side = reading.role;
    if (!dispute.isOpen) return notOpen(reading);
    if (reason !== undefined && dispute.reason !== null) return new ApiError("dispute_reason_given");
    const closed = dispute.closedAt !== null || dispute.complete[side] !== null;
    if (!closed && dispute.evidence[side].length + items.length > EVIDENCE_LIMITS.items) {
      const submitted = dispute.evidence[side].length;
      return new ApiError("evidence_limit_reached", { details: { submitted, limit: EVIDENCE_LIMITS.items } });
    }
    return new ApiError("evidence_closed", {
      details: { evidenceDeadline: dispute.evidenceEndsAt.toISOString(), complete: dispute.complete[side] !== null },
    });
  }

  /** Stores a party's addition as a whole or not at all. Its texts are literals, so an update never reads them as operators. */
  async #add({ dispute, reading }: Opened, addition: Addition): Promise<DisputeRecord> {
    const { reason, items, isComplete, criteriaJson } = addition;
    const side = reading.role;
    const at = this.#chainMoment(reading);
    if (reading.record.status !== "disputed") throw notOpen(reading);
    if (reading.chainNow * MILLISECONDS > dispute.evidenceEndsAt.getTime())
      throw this.#refusal(closed(dispute), reading, addition);
    const list = `evidence.${side}`;
    // The list has room if there is nothing at this position; a request has no more items than a list may have.
    const room = EVIDENCE_LIMITS.items - items.length;
    const added = await this.#deps.disputes
      .findOneAndUpdate(
        {
          _id: dispute._id,
          isOpen: true,
          closedAt: null,
          [`complete.${side}`]: null,
          [`${list}.${room}`]: { $exists: false },
          // A repeat may have added them while this run was paused.
          ...(items.length === 0
            ? {}
            : { [`${list}.evidenceId`]: { $nin: items.map(({ evidenceId }) => evidenceId) } }),
          ...(reason === undefined ? {} : { reason: null }),
        },
        [
          {
            $set: {
              ...(items.length === 0 ? {} : { [list]: { $concatArrays: [`$${list}`, { $literal: items }] } }),
              ...(isComplete ? { [`complete.${side}`]: at } : {}),
              ...(reason === undefined ? {} : { reason: { $literal: { text: reason, givenAt: at } } }),
              ...(criteriaJson === undefined ? {} : { criteriaJson: { $literal: criteriaJson } }),
              updatedAt: this.#deps.now(),
            },
          },
          ...(isComplete || items.length > 0 ? [{ $set: { dueAt: RULING_DUE_AT } }] : []),
        ],
        { returnDocument: "after", updatePipeline: true },
      )
      .lean();
    if (added !== null) return added;
    const current = (await this.#deps.disputes.findById(dispute._id).lean()) ?? dispute;
    if (items.some(({ evidenceId }) => hasEvidence(current, side, evidenceId))) return current;
    throw this.#refusal(current, reading, addition);
  }

  #newItem(
    item: Pick<EvidenceItem, "type" | "description" | "attachments">,
    evidenceId: string,
    reading: Reading,
  ): EvidenceItem {
    const { type, description, attachments } = item;
    return { evidenceId, type, description, attachments, submittedAt: this.#chainMoment(reading) };
  }

  async #addEvidence(opened: Opened, body: EvidenceBody, operation: Operation): Promise<DisputeReading> {
    const { type, description, attachments = [], complete, criteria } = body;
    const evidenceId = operation.newId("evi", this.#deps.now());
    const { dispute, reading } = opened;
    const isDone = (record: DisputeRecord) =>
      type === undefined
        ? complete === true
          ? record.complete[reading.role] !== null
          : record.criteriaJson !== null
        : hasEvidence(record, reading.role, evidenceId);
    if (operation.isRepeat && isDone(dispute)) return this.#present(dispute, reading);
    const criteriaJson = this.#suppliedCriteria(criteria, reading);
    const items =
      type === undefined || description === undefined
        ? []
        : [this.#newItem({ type, description, attachments }, evidenceId, reading)];
    const addition = { items, isComplete: complete === true, ...(criteriaJson === undefined ? {} : { criteriaJson }) };
    return this.#present(await this.#add(opened, addition), reading);
  }
}

function hasEvidence({ evidence }: DisputeRecord, side: Reading["role"], evidenceId: string): boolean {
  return evidence[side].some((item) => item.evidenceId === evidenceId);
}

/** A record as it is once the evidence period has ended. */
function closed(dispute: DisputeRecord): DisputeRecord {
  return { ...dispute, closedAt: dispute.closedAt ?? dispute.evidenceEndsAt };
}
