import { ethereum } from "@graphprotocol/graph-ts";

import { Dispute, Escrow } from "../../generated/schema";

/** Records that the buyer opened a dispute. */
export function createDispute(escrow: Escrow, event: ethereum.Event): void {
  const dispute = new Dispute(escrow.id);
  dispute.escrow = escrow.id;
  dispute.buyer = escrow.buyer;
  dispute.seller = escrow.seller;
  dispute.openedAt = event.block.timestamp;
  dispute.openedBlock = event.block.number;
  dispute.openedTxHash = event.transaction.hash;
  dispute.updatedBlock = event.block.number;
  dispute.save();
}

/** Records how a dispute ended, as its resolved escrow has it. */
export function endDispute(escrow: Escrow, event: ethereum.Event): void {
  const dispute = Dispute.load(escrow.id);
  if (dispute == null) return;
  dispute.resolvedAt = event.block.timestamp;
  dispute.resolvedBlock = event.block.number;
  dispute.resolvedTxHash = event.transaction.hash;
  dispute.outcome = escrow.outcome;
  dispute.buyerPercent = escrow.buyerPercent;
  dispute.buyerAmount = escrow.buyerAmount;
  dispute.sellerAmount = escrow.sellerAmount;
  dispute.resolvedBy = escrow.resolvedBy;
  dispute.resolutionMethod = escrow.resolutionMethod;
  dispute.rationaleHash = escrow.rationaleHash;
  dispute.submitter = escrow.resolutionSubmitter;
  dispute.updatedBlock = event.block.number;
  dispute.save();
}
