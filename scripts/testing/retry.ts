import { readResults, replaceResults } from "./results.ts";
import type { TestResult } from "./results.ts";

/** A test that failed at first and passed when its file was rerun alone. */
export interface FlakyTest {
  file: string;
  title: string;
}

/**
 * Reruns each file of the stage that has a failed test, one at a time, and replaces its results.
 * @param rerun runs a file alone and returns its results
 */
export async function retryFailed(
  stage: string,
  rerun: (file: string) => Promise<readonly TestResult[]>,
): Promise<FlakyTest[]> {
  const first = readResults(stage).filter(({ file, status }) => file !== "" && status === "failed");
  const flaky: FlakyTest[] = [];
  for (const file of new Set(first.map((result) => result.file))) {
    console.log(`\n── rerun, alone: ${file} ──`);
    const results = await rerun(file);
    replaceResults(stage, file, results);
    const statuses = new Map(results.map(({ title, status }) => [title, status]));
    // A failed hook and the end of a file have titles that no passed test has. Then the whole file must have passed.
    const isSound = results.every(({ status }) => status !== "failed");
    for (const { title } of first.filter((result) => result.file === file)) {
      const status = statuses.get(title);
      if (status === "passed" || (status === undefined && isSound)) flaky.push({ file, title });
    }
  }
  return flaky;
}
