import { Address, BigInt, Bytes, ethereum } from "@graphprotocol/graph-ts";

import { ScoreChange, ScoreFailure } from "../../generated/schema";
import { ordinalOf, scoreChangeId } from "../ids";

/** Adds a change to an agent's score history. */
export function recordScoreChange(
  agent: Address,
  escrowId: Bytes,
  outcome: string,
  delta: BigInt,
  score: BigInt,
  event: ethereum.Event,
): void {
  const change = new ScoreChange(scoreChangeId(event, agent));
  change.ordinal = ordinalOf(event);
  change.agent = agent;
  change.escrowId = escrowId;
  change.outcome = outcome;
  change.delta = delta;
  change.score = score;
  change.blockNumber = event.block.number;
  change.timestamp = event.block.timestamp;
  change.txHash = event.transaction.hash;
  change.save();
}

/** Records that the score contract did not take the outcome of a settlement. */
export function recordScoreFailure(escrowId: Bytes, outcome: string, event: ethereum.Event): void {
  const failure = new ScoreFailure(escrowId);
  failure.escrow = escrowId;
  failure.outcome = outcome;
  failure.failedAt = event.block.timestamp;
  failure.failedTxHash = event.transaction.hash;
  failure.updatedBlock = event.block.number;
  failure.save();
}

/** Records that a retry brought the outcome into the score contract. */
export function recordScoreRetry(escrowId: Bytes, event: ethereum.Event): void {
  const failure = ScoreFailure.load(escrowId);
  if (failure == null) return;
  failure.retriedAt = event.block.timestamp;
  failure.retriedTxHash = event.transaction.hash;
  failure.updatedBlock = event.block.number;
  failure.save();
}
