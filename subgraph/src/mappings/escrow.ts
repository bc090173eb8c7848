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
import { countMove, countNewEscrow } from "../store/protocol";
import { addCreated, addDisputed, addSettled } from "../store/series";
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
  const escrow = createEscrow(terms, event);
  countNewEscrow(escrow, event.block);
  addCreated(escrow);
}

export function handleDeliverySubmitted(event: DeliverySubmitted): void {
  const escrow = load(event.params.escrowId);
  submitDelivery(escrow, event.params.proofHash, event);
  countMove("Funded", escrow, event.block);
}

export function handleEscrowReleased(event: EscrowReleased): void {
  const escrow = load(event.params.escrowId);
  releaseEscrow(escrow, event.params.sellerAmount, event.params.automatic, event);
  countReleased(escrow, event.block);
  countMove("Delivered", escrow, event.block);
  addSettled(escrow);
  addSettlement(escrow, event.block);
}

export function handleEscrowRefunded(event: EscrowRefunded): void {
  const escrow = load(event.params.escrowId);
  refundEscrow(escrow, event.params.buyerAmount, event);
  countDeclined(escrow, event.block);
  countMove("Funded", escrow, event.block);
  addSettled(escrow);
}

export function handleEscrowAbandoned(event: EscrowAbandoned): void {
  const escrow = load(event.params.escrowId);
  abandonEscrow(escrow, event.params.buyerAmount, event);
  countAbandoned(escrow, event.block);
  countMove("Funded", escrow, event.block);
  addSettled(escrow);
}

export function handleDisputeOpened(event: DisputeOpened): void {
  const escrow = load(event.params.escrowId);
  openDispute(escrow, event);
  countMove("Delivered", escrow, event.block);
  addDisputed(escrow);
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
  countMove("Disputed", escrow, event.block);
  addSettled(escrow);
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
