import { Bytes, dataSource } from "@graphprotocol/graph-ts";

import {
  DeliverySubmitted,
  DisputeOpened,
  EscrowAbandoned,
  EscrowCreated,
  EscrowRefunded,
  EscrowReleased,
  EscrowResolved,
  TokenDelisted,
  TokenListed,
} from "../../generated/EscrowV2/EscrowV2";
import { Escrow } from "../../generated/schema";
import { disputeOutcomeName, resolutionMethodName, resolvedByName } from "../names";
import { countAbandoned, countCreated, countDeclined, countReleased, countResolved } from "../store/agent";
import {
  abandonEscrow,
  createEscrow,
  NewEscrow,
  openDispute,
  refundEscrow,
  releaseEscrow,
  Resolution,
  resolveEscrow,
  submitDelivery,
} from "../store/escrow";
import { delistToken, listToken } from "../store/token";
import { addSettlement } from "../store/volume";

export function handleEscrowCreated(event: EscrowCreated): void {
  const terms = new NewEscrow(
    event.params.escrowId,
    event.params.buyer,
    event.params.seller,
    event.params.token,
    event.params.amount,
    event.params.fee,
    event.params.valueUsd,
    event.params.deadline,
    event.params.disputeWindow,
    event.params.abandonmentGrace,
    event.params.criteriaHash,
  );
  countCreated(event.params.buyer, event.params.seller, event.block);
  createEscrow(terms, event);
}

export function handleDeliverySubmitted(event: DeliverySubmitted): void {
  submitDelivery(load(event.params.escrowId), event.params.proofHash, event);
}

export function handleEscrowReleased(event: EscrowReleased): void {
  const escrow = load(event.params.escrowId);
  releaseEscrow(escrow, event.params.sellerAmount, event.params.automatic, event);
  countReleased(escrow, event.block);
  addSettlement(escrow, event.block);
}

export function handleEscrowRefunded(event: EscrowRefunded): void {
  const escrow = load(event.params.escrowId);
  refundEscrow(escrow, event.params.buyerAmount, event);
  countDeclined(escrow, event.block);
}

export function handleEscrowAbandoned(event: EscrowAbandoned): void {
  const escrow = load(event.params.escrowId);
  abandonEscrow(escrow, event.params.buyerAmount, event);
  countAbandoned(escrow, event.block);
}

export function handleDisputeOpened(event: DisputeOpened): void {
  openDispute(load(event.params.escrowId), event);
}

export function handleEscrowResolved(event: EscrowResolved): void {
  const escrow = load(event.params.escrowId);
  const resolution = new Resolution(
    disputeOutcomeName(event.params.outcome),
    event.params.buyerPercent.toI32(),
    resolvedByName(event.params.resolvedBy),
    resolutionMethodName(event.params.resolutionMethod),
    event.params.rationaleHash,
    event.params.buyerAmount,
    event.params.sellerAmount,
  );
  resolveEscrow(escrow, resolution, event);
  countResolved(escrow, resolution.outcome, event.block);
  addSettlement(escrow, event.block);
}

export function handleTokenListed(event: TokenListed): void {
  listToken(
    event.params.token,
    event.params.feed,
    event.params.decimals.toI32(),
    event.params.minAmount,
    dataSource.context(),
  );
}

export function handleTokenDelisted(event: TokenDelisted): void {
  delistToken(event.params.token);
}

/** Every move but the first concerns an escrow that its creation has stored. */
function load(escrowId: Bytes): Escrow {
  return Escrow.load(escrowId)!;
}
