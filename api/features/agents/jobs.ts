import type { JobDefinition } from "../../jobs/define-job.ts";
import type { SimilarNames } from "./similar-names.ts";
import type { SyncStandings } from "./standings-sync.ts";

const SYNC_EVERY_MS = 60_000;
/** Finds nothing but after the first start of this version. */
const FILL_EVERY_MS = 3_600_000;

/** Jobs of the agents feature. */
export function agentJobs(syncStandings: SyncStandings, similarNames: Pick<SimilarNames, "fill">): JobDefinition[] {
  return [
    {
      name: "agents.sync-standings",
      everyMs: SYNC_EVERY_MS,
      run: ({ signal }) => syncStandings(signal),
    },
    {
      name: "agents.fill-skeletons",
      everyMs: FILL_EVERY_MS,
      run: ({ signal }) => similarNames.fill(signal),
    },
  ];
}
