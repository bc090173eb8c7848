import { Address, BigInt, Bytes, ethereum } from "@graphprotocol/graph-ts";

import { ScoreChange } from "../../generated/schema";
import { logId, ordinalOf } from "../ids";

/** Adds a change to an agent's score history. */
export function recordScoreChange(
  agent: Address,
  escrowId: Bytes,
  outcome: string,
  delta: BigInt,
  score: BigInt,
  event: ethereum.Event,
): void {
  const change = new ScoreChange(logId(event));
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
