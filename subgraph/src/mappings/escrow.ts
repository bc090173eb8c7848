import { Bytes, dataSource, log } from "@graphprotocol/graph-ts";

import {
  CreditWithdrawn,
  DeliverySubmitted,
  DisputeOpened,
  EscrowAbandoned,
  EscrowCreated,
  EscrowRefunded,
  EscrowReleased,
  EscrowResolved,
  Initialized,
  OwnershipTransferred,
  OwnershipTransferStarted,
  Paused,
  PauserTransferred,
  PauserTransferStarted,
  PayoutCredited,
  ScoreUpdateFailed,
  ScoreUpdateRetried,
  SellerTermsSet,
  TokenDelisted,
  TokenListed,
  TreasurySet,
  Unpaused,
  Upgraded,
} from "../../generated/EscrowV2/EscrowV2";
import { Escrow } from "../../generated/schema";
import { disputeOutcomeName, resolutionMethodName, resolvedByName, scoreOutcomeName } from "../names";
import { recordChange, recordListing } from "../store/administration";
import { countAbandoned, countCreated, countDeclined, countReleased, countResolved } from "../store/agent";
import { setPaused, setPauser, setPendingPauser, setTreasury } from "../store/configuration";
import { proposeOwner, setOwner, setVersion, upgradeContract } from "../store/contract";
import { creditPayout, withdrawCredit } from "../store/credit";
import { createDispute, endDispute } from "../store/dispute";
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
import { countMove, countNewEscrow, startProtocol } from "../store/protocol";
import { recordScoreFailure, recordScoreRetry } from "../store/score";
import { setSellerTerms } from "../store/seller-terms";
import { addCreated, addDisputed, addSettled } from "../store/series";
import { countDeposit, countSettlement, delistToken, listToken } from "../store/token";
import { addFee } from "../store/treasury";
import { addSettlement } from "../store/volume";

const CONTRACT = "EscrowV2";

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
  countDeposit(escrow);
  addFee(escrow, event.block);
  addCreated(escrow);
}

export function handleDeliverySubmitted(event: DeliverySubmitted): void {
  const escrow = load(event.params.escrowId);
  if (escrow == null) return;
  submitDelivery(escrow, event.params.proofHash, event);
  countMove("Funded", escrow, event.block);
}

export function handleEscrowReleased(event: EscrowReleased): void {
  const escrow = load(event.params.escrowId);
  if (escrow == null) return;
  releaseEscrow(escrow, event.params.sellerAmount, event.params.automatic, event);
  countReleased(escrow, event.block);
  countMove("Delivered", escrow, event.block);
  countSettlement(escrow);
  addSettled(escrow);
  addSettlement(escrow, event.block);
}

export function handleEscrowRefunded(event: EscrowRefunded): void {
  const escrow = load(event.params.escrowId);
  if (escrow == null) return;
  refundEscrow(escrow, event.params.buyerAmount, event);
  countDeclined(escrow, event.block);
  countMove("Funded", escrow, event.block);
  countSettlement(escrow);
  addSettled(escrow);
}

export function handleEscrowAbandoned(event: EscrowAbandoned): void {
  const escrow = load(event.params.escrowId);
  if (escrow == null) return;
  abandonEscrow(escrow, event.params.buyerAmount, event);
  countAbandoned(escrow, event.block);
  countMove("Funded", escrow, event.block);
  countSettlement(escrow);
  addSettled(escrow);
}

export function handleDisputeOpened(event: DisputeOpened): void {
  const escrow = load(event.params.escrowId);
  if (escrow == null) return;
  openDispute(escrow, event);
  createDispute(escrow, event);
  countMove("Delivered", escrow, event.block);
  addDisputed(escrow);
}

export function handleEscrowResolved(event: EscrowResolved): void {
  const escrow = load(event.params.escrowId);
  if (escrow == null) return;
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
  endDispute(escrow, event);
  countResolved(escrow, resolution.outcome, event.block);
  countMove("Disputed", escrow, event.block);
  countSettlement(escrow);
  addSettled(escrow);
  addSettlement(escrow, event.block);
}

export function handlePayoutCredited(event: PayoutCredited): void {
  creditPayout(event.params.recipient, event.params.token, event.params.amount, event.params.escrowId, event);
}

export function handleCreditWithdrawn(event: CreditWithdrawn): void {
  withdrawCredit(event.params.account, event.params.token, event.params.amount, event.params.recipient, event);
}

export function handleScoreUpdateFailed(event: ScoreUpdateFailed): void {
  recordScoreFailure(event.params.escrowId, scoreOutcomeName(event.params.outcome), event);
}

export function handleScoreUpdateRetried(event: ScoreUpdateRetried): void {
  recordScoreRetry(event.params.escrowId, event);
}

export function handleSellerTermsSet(event: SellerTermsSet): void {
  setSellerTerms(
    event.params.seller,
    event.params.minAmountUsd,
    event.params.minDeliverySeconds,
    event.params.paused,
    event,
  );
}

export function handleTokenListed(event: TokenListed): void {
  listToken(
    event.params.token,
    event.params.feed,
    event.params.maxPriceAge,
    event.params.decimals.toI32(),
    event.params.minAmount,
    dataSource.context(),
  );
  recordListing(event.params.token, event.params.feed, event.params.maxPriceAge, event.params.minAmount, event);
}

export function handleTokenDelisted(event: TokenDelisted): void {
  delistToken(event.params.token);
  recordChange("TokenDelisted", null, event.params.token, event);
}

export function handleTreasurySet(event: TreasurySet): void {
  setTreasury(event.params.newTreasury, event.block);
  recordChange("TreasurySet", event.params.previousTreasury, event.params.newTreasury, event);
}

export function handlePaused(event: Paused): void {
  setPaused(true, event.block);
  recordChange("Paused", null, event.params.account, event);
}

export function handleUnpaused(event: Unpaused): void {
  setPaused(false, event.block);
  recordChange("Unpaused", null, event.params.account, event);
}

export function handlePauserTransferStarted(event: PauserTransferStarted): void {
  setPendingPauser(event.params.pendingPauser, event.block);
  recordChange("PauserTransferStarted", event.params.currentPauser, event.params.pendingPauser, event);
}

export function handlePauserTransferred(event: PauserTransferred): void {
  setPauser(event.params.newPauser, event.block);
  recordChange("PauserTransferred", event.params.previousPauser, event.params.newPauser, event);
}

export function handleUpgraded(event: Upgraded): void {
  upgradeContract(CONTRACT, event.params.implementation, event);
}

export function handleInitialized(event: Initialized): void {
  startProtocol(event.block);
  setVersion(CONTRACT, event.params.version, event);
}

export function handleOwnershipTransferStarted(event: OwnershipTransferStarted): void {
  proposeOwner(CONTRACT, event.params.previousOwner, event.params.newOwner, event);
}

export function handleOwnershipTransferred(event: OwnershipTransferred): void {
  setOwner(CONTRACT, event.params.previousOwner, event.params.newOwner, event);
}

/** Every move but the first concerns an escrow that its creation has stored. */
function load(escrowId: Bytes): Escrow | null {
  const escrow = Escrow.load(escrowId);
  // A handler that fails stops the whole subgraph, so this one is left out.
  if (escrow == null) log.error("A move of the escrow {}, which was never created", [escrowId.toHexString()]);
  return escrow;
}
