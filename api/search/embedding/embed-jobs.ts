import type { JobDefinition, JobRun } from "../../jobs/define-job.ts";

/** Texts without a vector of the current model: those that have none at all, or those that another model has embedded. */
export type PendingTexts = "new" | "outdated";

/** A run that embeds some of them. */
export interface EmbedRun extends JobRun {
  texts: PendingTexts;
  /** The run ends after so many milliseconds. */
  limitMs: number;
}

const EVERY_MS = 5_000;
/**
 * New texts are to be found by their meaning within a minute, even if the worker that embeds them is killed: then its lock ends, and
 * another looks. A run is short, because it begins with the newest.
 */
const NEW = { limitMs: 10_000, lockLifetimeMs: 45_000 };
/** There can be millions after a change of the model. Each run goes on where the last one ended. */
const OUTDATED = { limitMs: 55_000, lockLifetimeMs: 3 * 60_000 };

/** The jobs that embed the texts of a feature. New texts have a job of their own, so that they never wait for the others. */
export function embedJobs(feature: string, embed: (run: EmbedRun) => Promise<unknown>): JobDefinition[] {
  const job = (verb: string, texts: PendingTexts, { limitMs, lockLifetimeMs }: typeof NEW): JobDefinition => ({
    name: `${feature}.${verb}`,
    everyMs: EVERY_MS,
    lockLifetimeMs,
    run: async (run) => {
      await embed({ ...run, texts, limitMs });
    },
  });
  return [job("embed-pending", "new", NEW), job("embed-again", "outdated", OUTDATED)];
}
