import { Address, BigInt, Bytes, ethereum } from "@graphprotocol/graph-ts";

import { Escrow, EscrowEvent } from "../../generated/schema";
import { logId, ordinalOf } from "../ids";

/** Terms of a new escrow. Amounts are token units, times unix seconds, spans seconds. */
export class NewEscrow {
  constructor(
    public escrowId: Bytes,
    public buyer: Address,
    public seller: Address,
    public token: Address,
    public amount: BigInt,
    public fee: BigInt,
    public valueUsd: BigInt,
    public deadline: BigInt,
    public disputeWindow: BigInt,
    public abandonmentGrace: BigInt,
    public criteriaHash: Bytes,
  ) {}
}

/** How a dispute has ended, with the names of the schema's enums. */
export class Resolution {
  constructor(
    public outcome: string,
    public buyerPercent: i32,
    public resolvedBy: string,
    public resolutionMethod: string,
    public rationaleHash: Bytes,
    public buyerAmount: BigInt,
    public sellerAmount: BigInt,
  ) {}
}

/** None to Funded. */
export function createEscrow(terms: NewEscrow, event: ethereum.Event): Escrow {
  const escrow = new Escrow(terms.escrowId);
  escrow.state = "Funded";
  escrow.buyer = terms.buyer;
  escrow.seller = terms.seller;
  escrow.token = terms.token;
  escrow.amount = terms.amount;
  escrow.fee = terms.fee;
  escrow.locked = terms.amount.minus(terms.fee);
  escrow.valueUsd = terms.valueUsd;
  escrow.deadline = terms.deadline;
  escrow.disputeWindow = terms.disputeWindow;
  escrow.abandonmentGrace = terms.abandonmentGrace;
  escrow.criteriaHash = terms.criteriaHash;
  escrow.createdAt = event.block.timestamp;
  escrow.createdBlock = event.block.number;
  escrow.createdTxHash = event.transaction.hash;
  escrow.buyerAmount = BigInt.zero();
  escrow.sellerAmount = BigInt.zero();
  save(escrow, event);
  const move = newMove(escrow, "EscrowCreated", event);
  move.amount = terms.amount;
  move.fee = terms.fee;
  move.save();
  return escrow;
}

/** Funded to Delivered. */
export function submitDelivery(escrow: Escrow, proofHash: Bytes, event: ethereum.Event): void {
  escrow.state = "Delivered";
  escrow.proofHash = proofHash;
  escrow.deliveredAt = event.block.timestamp;
  save(escrow, event);
  const move = newMove(escrow, "DeliverySubmitted", event);
  move.proofHash = proofHash;
  move.save();
}

/** Delivered to Released. */
export function releaseEscrow(escrow: Escrow, sellerAmount: BigInt, automatic: boolean, event: ethereum.Event): void {
  escrow.automatic = automatic;
  settle(escrow, "Released", BigInt.zero(), sellerAmount, event);
  const move = newMove(escrow, "EscrowReleased", event);
  move.automatic = automatic;
  move.buyerAmount = BigInt.zero();
  move.sellerAmount = sellerAmount;
  move.save();
}

/** Funded to Refunded. */
export function refundEscrow(escrow: Escrow, buyerAmount: BigInt, event: ethereum.Event): void {
  returnDeposit(escrow, "Refunded", "EscrowRefunded", buyerAmount, event);
}

/** Funded to Abandoned. */
export function abandonEscrow(escrow: Escrow, buyerAmount: BigInt, event: ethereum.Event): void {
  returnDeposit(escrow, "Abandoned", "EscrowAbandoned", buyerAmount, event);
}

/** Delivered to Disputed. */
export function openDispute(escrow: Escrow, event: ethereum.Event): void {
  escrow.state = "Disputed";
  escrow.disputedAt = event.block.timestamp;
  save(escrow, event);
  newMove(escrow, "DisputeOpened", event).save();
}

/** Disputed to Resolved. */
export function resolveEscrow(escrow: Escrow, resolution: Resolution, event: ethereum.Event): void {
  escrow.outcome = resolution.outcome;
  escrow.buyerPercent = resolution.buyerPercent;
  escrow.resolvedBy = resolution.resolvedBy;
  escrow.resolutionMethod = resolution.resolutionMethod;
  escrow.rationaleHash = resolution.rationaleHash;
  settle(escrow, "Resolved", resolution.buyerAmount, resolution.sellerAmount, event);
  const move = newMove(escrow, "EscrowResolved", event);
  move.buyerAmount = resolution.buyerAmount;
  move.sellerAmount = resolution.sellerAmount;
  move.outcome = resolution.outcome;
  move.buyerPercent = resolution.buyerPercent;
  move.resolvedBy = resolution.resolvedBy;
  move.resolutionMethod = resolution.resolutionMethod;
  move.rationaleHash = resolution.rationaleHash;
  move.save();
}

/** Records who handed the resolution to the resolver contract; no move of its own. */
export function recordSubmitter(escrow: Escrow, submitter: Address, event: ethereum.Event): void {
  escrow.resolutionSubmitter = submitter;
  save(escrow, event);
}

function returnDeposit(escrow: Escrow, state: string, type: string, buyerAmount: BigInt, event: ethereum.Event): void {
  settle(escrow, state, buyerAmount, BigInt.zero(), event);
  const move = newMove(escrow, type, event);
  move.buyerAmount = buyerAmount;
  move.sellerAmount = BigInt.zero();
  move.save();
}

function settle(escrow: Escrow, state: string, buyerAmount: BigInt, sellerAmount: BigInt, event: ethereum.Event): void {
  escrow.state = state;
  escrow.settledAt = event.block.timestamp;
  escrow.buyerAmount = buyerAmount;
  escrow.sellerAmount = sellerAmount;
  save(escrow, event);
}

function save(escrow: Escrow, event: ethereum.Event): void {
  escrow.updatedBlock = event.block.number;
  escrow.save();
}

function newMove(escrow: Escrow, type: string, event: ethereum.Event): EscrowEvent {
  const move = new EscrowEvent(logId(event));
  move.ordinal = ordinalOf(event);
  move.type = type;
  move.escrow = escrow.id;
  move.escrowId = escrow.id;
  move.buyer = escrow.buyer;
  move.seller = escrow.seller;
  move.token = escrow.token;
  move.blockNumber = event.block.number;
  move.blockHash = event.block.hash;
  move.logIndex = event.logIndex;
  move.txHash = event.transaction.hash;
  move.timestamp = event.block.timestamp;
  return move;
}
