import { ScoreChanged } from "../../generated/ScoreV2/ScoreV2";
import { scoreOutcomeName } from "../names";
import { setScore } from "../store/agent";
import { recordScoreChange } from "../store/score";

export function handleScoreChanged(event: ScoreChanged): void {
  setScore(event.params.agent, event.params.score, event.block);
  recordScoreChange(
    event.params.agent,
    event.params.escrowId,
    scoreOutcomeName(event.params.outcome),
    event.params.delta,
    event.params.score,
    event,
  );
}
