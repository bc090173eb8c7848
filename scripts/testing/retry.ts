import { readResults, replaceResults } from "./results.ts";
import type { TestResult } from "./results.ts";

/** A test that failed at first and passed when its file ran again, alone. */
export interface FlakyTest {
  file: string;
  title: string;
}

/**
 * Runs each file of the stage that has a failed test once more, one after the other, and puts the new results in the place
 * of the first ones.
 * @param rerun runs the file alone and returns its results
 */
export async function retryFailed(
  stage: string,
  rerun: (file: string) => Promise<readonly TestResult[]>,
): Promise<FlakyTest[]> {
  const first = readResults(stage).filter(({ file, status }) => file !== "" && status === "failed");
  const flaky: FlakyTest[] = [];
  for (const file of new Set(first.map((result) => result.file))) {
    console.log(`\n── once more, alone: ${file} ──`);
    const results = await rerun(file);
    replaceResults(stage, file, results);
    const failed = new Set(results.filter(({ status }) => status === "failed").map(({ title }) => title));
    for (const { title } of first.filter((result) => result.file === file)) {
      if (!failed.has(title)) flaky.push({ file, title });
    }
  }
  return flaky;
}
