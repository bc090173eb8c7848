import type { z } from "zod";

import { AGREEMENT_TYPES, agreementDomain } from "../../chain/agreement.ts";
import { resolveByAgreementCall } from "../../chain/calldata.ts";
import type { ContractCall } from "../../chain/calldata.ts";
import { isoTime } from "../../lib/clock.ts";
import type { TransactionRecord } from "../transactions/model.ts";
import type { DisputeRecord, EvidenceItem, SettlementOffer } from "./model.ts";
import { ALL_PERCENT, rationaleOf } from "./ruling-document.ts";
import type { RulingDocument } from "./ruling-document.ts";
import type { dispute, DisputeStatus } from "./schemas.ts";
import type { Side } from "./judging/case.ts";

/** How far a ruling has come on its way to the chain. */
export interface RulingTransactionState {
  state: string;
  txHash: `0x${string}` | null;
  problem: string | null;
}

/** A dispute with its escrow at a block. */
export interface DisputeReading {
  dispute: DisputeRecord;
  record: TransactionRecord;
  /** Block of the subgraph at which the escrow was read; null if it is the follower's copy. */
  indexedBlock: number | null;
  /** The chain's time in unix seconds. */
  chainNow: number;
  resolverContract: `0x${string}`;
  /** Undefined before the ruling. */
  transaction: RulingTransactionState | undefined;
}

type Presented = z.input<typeof dispute>;

function statusOf({ dispute, record }: DisputeReading): DisputeStatus {
  if (record.status === "resolved") return "resolved";
  if (record.status !== "disputed") return "withdrawn";
  if (dispute.ruling !== null) return "ruled";
  return dispute.closedAt === null ? "open" : "ruling";
}

function toEvidence({ evidence }: DisputeRecord): Presented["evidence"] {
  const of = (submittedBy: Side, items: readonly EvidenceItem[]) => items.map((item) => ({ submittedBy, ...item }));
  return [...of("buyer", evidence.buyer), ...of("seller", evidence.seller)]
    .toSorted((one, other) => one.submittedAt.getTime() - other.submittedAt.getTime())
    .map((item) => ({ ...item, id: item.evidenceId, submittedAt: item.submittedAt.toISOString() }));
}

/** The chain's resolution, or else the ruling that is on its way there. */
function toResolution(reading: DisputeReading) {
  const { status, escrow } = reading.record;
  // A ruling of a dispute that isn't on chain has no outcome. It counts again if the dispute comes back.
  const ruling = statusOf(reading) === "withdrawn" ? null : reading.dispute.ruling;
  const document = ruling === null ? null : (JSON.parse(ruling.documentJson) as RulingDocument);
  const resolved = status === "resolved" ? escrow : null;
  const rulingHolds = resolved === null || resolved.rationaleHash === ruling?.rationaleHash;
  const buyerPercent = resolved?.buyerPercent ?? ruling?.buyerPercent ?? null;
  return {
    outcome: resolved?.outcome ?? ruling?.outcome ?? null,
    buyerPercent,
    sellerPercent: buyerPercent === null ? null : ALL_PERCENT - buyerPercent,
    resolvedBy: resolved === null ? (ruling?.ruledBy ?? null) : resolved.resolvedBy,
    resolutionMethod: resolved === null ? (ruling === null ? null : ("ruling" as const)) : resolved.resolutionMethod,
    rationale: document !== null && rulingHolds ? rationaleOf(document) : null,
    rationaleHash: ruling !== null && rulingHolds ? ruling.rationaleHash : null,
    model: document !== null && rulingHolds ? (document.model?.model ?? null) : null,
  };
}

/** Whether both offers are for the same terms and can still be used. */
function agreedCalls({ dispute, record, chainNow, resolverContract }: DisputeReading): ContractCall[] {
  const { buyer, seller } = dispute.offers;
  if (record.status !== "disputed" || buyer === null || seller === null) return [];
  const isSame = buyer.buyerPercent === seller.buyerPercent && buyer.deadline === seller.deadline;
  if (!isSame || chainNow > buyer.deadline) return [];
  const target = { chainId: record.chainId, resolverContract };
  const { buyerPercent, deadline } = buyer;
  const signatures = { buyerSignature: buyer.signature, sellerSignature: seller.signature };
  return [resolveByAgreementCall(target, { escrowId: record.escrowId, buyerPercent, deadline, ...signatures })];
}

function presentOffer(offer: SettlementOffer | null, chainNow: number): Presented["settlement"]["offers"]["buyer"] {
  if (offer === null) return null;
  const { buyerPercent, deadline, signature, offeredAt } = offer;
  const status = chainNow > deadline ? "expired" : "open";
  return {
    buyerPercent,
    deadline,
    deadlineAt: isoTime(deadline),
    signature,
    offeredAt: offeredAt.toISOString(),
    status,
  };
}

/** A dispute as its parties see it. */
export function presentDispute(reading: DisputeReading): Presented {
  const { dispute: own, record, indexedBlock, chainNow, resolverContract, transaction } = reading;
  const { escrow } = record;
  const resolution = escrow?.moves.find(({ type }) => type === "EscrowResolved");
  return {
    id: own._id,
    disputeId: own._id,
    transactionId: record._id,
    escrowId: record.escrowId,
    network: record.network,
    status: statusOf(reading),
    reason: own.reason?.text ?? null,
    openedBy: "buyer",
    evidence: toEvidence(own),
    evidenceDeadline: own.evidenceEndsAt.toISOString(),
    complete: { buyer: own.complete.buyer !== null, seller: own.complete.seller !== null },
    ...toResolution(reading),
    resolutionTxHash: resolution?.txHash ?? null,
    transaction:
      transaction === undefined
        ? null
        : { state: transaction.state, txHash: transaction.txHash, problem: transaction.problem },
    settlement: {
      typedData: {
        domain: agreementDomain({ chainId: record.chainId, resolverContract }),
        types: { ResolutionAgreement: AGREEMENT_TYPES.ResolutionAgreement.map((field) => ({ ...field })) },
        primaryType: "ResolutionAgreement",
        message: { escrowId: record.escrowId },
      },
      offers: { buyer: presentOffer(own.offers.buyer, chainNow), seller: presentOffer(own.offers.seller, chainNow) },
      calls: agreedCalls(reading),
    },
    indexedBlock,
    createdAt: isoTime(escrow?.disputedAt ?? own.createdAt.getTime() / 1_000),
    resolvedAt: record.status === "resolved" && escrow?.settledAt != null ? isoTime(escrow.settledAt) : null,
  };
}
