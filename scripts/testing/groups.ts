// Which test files run in one process. Each process loads and compiles what it tests, which takes two seconds or more.
import { isNightFile } from "./nightly.ts";
import { usualSeconds } from "./test-file.ts";

/** Test files that one process runs. */
export type Group = [string, ...string[]];

/** A process takes no further file after that many seconds, so that the lanes end at nearly the same time. */
const GROUP_SECONDS = 90;

/**
 * The stage of tests that only call functions, the API and services that all share. The others start and kill processes of
 * a stack.
 */
const sharingStageOf = (file: string): string | undefined =>
  isNightFile(file) ? undefined : /^test\/(subgraph|api|sdk|tools|cli|web)\//.exec(file)?.[1];

/** Puts files of one stage together. The groups depend on the files alone, not on where and when they last ran. */
export function groupsOf(files: readonly string[]): Group[] {
  const groups: { group: Group; seconds: number }[] = [];
  for (const file of files.toSorted()) {
    const added = usualSeconds(file);
    const stage = sharingStageOf(file);
    const isBeside = (other: string): boolean => stage !== undefined && sharingStageOf(other) === stage;
    const found = groups.find(({ group, seconds }) => seconds + added <= GROUP_SECONDS && isBeside(group[0]));
    if (found === undefined) {
      groups.push({ group: [file], seconds: added });
    } else {
      found.group.push(file);
      found.seconds += added;
    }
  }
  return groups.map(({ group }) => group);
}
