import type { JobDefinition } from "../../jobs/define-job.ts";
import { embedJobs } from "../../search/embedding/embed-jobs.ts";
import { embedPending } from "./embed-pending.ts";
import type { EmbedPendingDeps } from "./embed-pending.ts";

/** Jobs of the discovery feature. */
export function searchJobs(deps: EmbedPendingDeps): JobDefinition[] {
  return embedJobs("search", (run) => embedPending(deps, run));
}
