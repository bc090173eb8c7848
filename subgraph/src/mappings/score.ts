import { Address, BigInt } from "@graphprotocol/graph-ts";

import {
  Initialized,
  OwnershipTransferred,
  OwnershipTransferStarted,
  ScoresChanged,
  Upgraded,
} from "../../generated/ScoreV2/ScoreV2";
import { scoreOutcomeName } from "../names";
import { setScore } from "../store/agent";
import { proposeOwner, setOwner, setVersion, upgradeContract } from "../store/contract";
import { recordScoreChange } from "../store/score";
import { addScorePoint } from "../store/series";

const CONTRACT = "ScoreV2";

export function handleScoresChanged(event: ScoresChanged): void {
  change(event, event.params.buyer, event.params.buyerScore);
  change(event, event.params.seller, event.params.sellerScore);
}

export function handleUpgraded(event: Upgraded): void {
  upgradeContract(CONTRACT, event.params.implementation, event);
}

export function handleInitialized(event: Initialized): void {
  setVersion(CONTRACT, event.params.version, event);
}

export function handleOwnershipTransferStarted(event: OwnershipTransferStarted): void {
  proposeOwner(CONTRACT, event.params.previousOwner, event.params.newOwner, event);
}

export function handleOwnershipTransferred(event: OwnershipTransferred): void {
  setOwner(CONTRACT, event.params.previousOwner, event.params.newOwner, event);
}

function change(event: ScoresChanged, agent: Address, score: BigInt): void {
  const delta = setScore(agent, score, event.block);
  const outcome = scoreOutcomeName(event.params.outcome);
  recordScoreChange(agent, event.params.escrowId, outcome, delta, score, event);
  addScorePoint(agent, delta, score);
}
