import { Address, BigInt, Bytes, ethereum } from "@graphprotocol/graph-ts";

import { ScoreChange } from "../../generated/schema";
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
