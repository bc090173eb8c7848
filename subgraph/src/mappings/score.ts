import { Address, BigInt } from "@graphprotocol/graph-ts";

import { ScoresChanged } from "../../generated/ScoreV2/ScoreV2";
import { scoreOutcomeName } from "../names";
import { setScore } from "../store/agent";
import { recordScoreChange } from "../store/score";
import { addScorePoint } from "../store/series";

export function handleScoresChanged(event: ScoresChanged): void {
  change(event, event.params.buyer, event.params.buyerScore);
  change(event, event.params.seller, event.params.sellerScore);
}

function change(event: ScoresChanged, agent: Address, score: BigInt): void {
  const delta = setScore(agent, score, event.block);
  const outcome = scoreOutcomeName(event.params.outcome);
  recordScoreChange(agent, event.params.escrowId, outcome, delta, score, event);
  addScorePoint(agent, delta, score);
}
