import type { JobDefinition } from "../../jobs/define-job.ts";
import type { SyncStandings } from "./standings-sync.ts";

const SYNC_EVERY_MS = 60_000;

/** Jobs of the agents feature. */
export function agentJobs(syncStandings: SyncStandings): JobDefinition[] {
  return [
    {
      name: "agents.sync-standings",
      everyMs: SYNC_EVERY_MS,
      run: ({ signal }) => syncStandings(signal),
    },
  ];
}
