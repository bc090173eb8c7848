import { execFileSync } from "node:child_process";

import { NIGHT_FILES } from "./nightly.ts";
import type { FileOutcome } from "./mocha-file.ts";
import { count } from "./results.ts";
import type { Counts } from "./results.ts";

/** A stage of the nightly run. */
export interface StageOutcome extends Counts {
  stage: string;
  seconds: number;
}

/** A nightly run. */
export interface NightlyRun {
  /** When it began. */
  date: Date;
  commit: string;
  seconds: number;
  cores: number;
  stages: readonly StageOutcome[];
  files: readonly FileOutcome[];
  /** Failed checks, and runners that ended early. */
  failures: readonly string[];
}

/** The commit of the checkout; marked when files differ from it. */
export function currentCommit(): string {
  const git = (...args: string[]): string => execFileSync("git", args, { encoding: "utf8" }).trim();
  try {
    const isChanged = git("status", "--porcelain", "--untracked-files=no") !== "";
    return `${git("rev-parse", "--short=10", "HEAD")}${isChanged ? " with changes" : ""}`;
  } catch {
    return "unknown, because this isn't a git checkout";
  }
}

/** Sizes and seeds that a file has printed. */
export function campaignNotes(output: string): string[] {
  return [...output.matchAll(/^\s*(?:size: (.+)|(seed: \d+))$/gm)].map(([, size, seed]) => size ?? seed ?? "");
}

/** The page docs/inside/nightly.md. */
export function nightlyPage(run: NightlyRun): string {
  const campaigns = run.files
    .map(({ file, output, seconds }) => ({ file, seconds, notes: campaignNotes(output) }))
    .filter(({ notes }) => notes.length > 0);
  const outcomes = new Map(run.files.map((outcome) => [outcome.file, outcome]));
  const lastOf = (file: string): string => {
    const outcome = outcomes.get(file);
    if (outcome === undefined) return "did not run";
    const { passed, failed, skipped } = count(outcome.results);
    return `${passed} passed, ${failed} failed, ${skipped} skipped in ${outcome.seconds.toFixed(0)} s`;
  };
  return [
    "# Nightly run",
    "",
    "Written by `npm run test:nightly`, which runs every test at full size.",
    "",
    `- Date: ${run.date.toISOString().slice(0, 10)}`,
    `- Commit: ${run.commit}`,
    `- Duration: ${run.seconds.toFixed(0)} s on ${run.cores} cores`,
    ...run.failures.map((failure) => `- Failed: ${failure}`),
    "",
    "## Stages",
    "",
    "Stages run side by side, so their seconds overlap.",
    "",
    ...run.stages.map(
      ({ stage, passed, failed, skipped, seconds }) =>
        `- ${stage}: ${passed} passed, ${failed} failed, ${skipped} skipped in ${seconds.toFixed(0)} s`,
    ),
    "",
    "## Campaigns",
    "",
    "Their sizes and seeds. `TEST_SEED` repeats one.",
    "",
    ...campaigns.map(({ file, seconds, notes }) => `- \`${file}\`: ${notes.join(", ")}; ${seconds.toFixed(0)} s`),
    "",
    "## Left to the night",
    "",
    "`npm test` leaves these files out. It runs those with named code when that code has changed since this run.",
    "",
    ...NIGHT_FILES.flatMap(({ file, tests, code }) => [
      `- \`${file}\`: ${tests}`,
      `  - last run: ${lastOf(file)}`,
      ...(code === undefined ? [] : [`  - code: ${code.map((path) => `\`${path}\``).join(", ")}`]),
    ]),
    "",
  ].join("\n");
}
