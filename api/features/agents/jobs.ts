import type { JobDefinition } from "../../jobs/define-job.ts";
import type { AgentModels } from "./model.ts";
import { syncEveryStanding } from "./standings.ts";
import type { Standings } from "./standings.ts";

const SYNC_EVERY_MS = 60_000;

/** The jobs of agents. */
export function agentJobs(models: Pick<AgentModels, "agents">, standings: Standings): JobDefinition[] {
  return [
    {
      name: "agents.sync-standings",
      everyMs: SYNC_EVERY_MS,
      run: ({ signal }) => syncEveryStanding(models, standings, signal),
    },
  ];
}
