// Which test files run in one process. Each process loads and compiles what it tests, which takes up to two seconds.
import { dirname } from "node:path";

import { isNightFile } from "./nightly.ts";
import { usualSeconds } from "./test-file.ts";

/** Test files that one process runs. */
export type Group = [string, ...string[]];

/** A process takes no further file after that many seconds, so that the lanes end at nearly the same time. */
const GROUP_SECONDS = 60;

/** Tests that only call functions, the API and services that all share. The others start and kill processes of a stack. */
const sharesProcess = (file: string): boolean => /^test\/(subgraph|api|sdk)\//.test(file) && !isNightFile(file);

/** Puts files of one folder together. The groups depend on the files alone, not on where and when they last ran. */
export function groupsOf(files: readonly string[]): Group[] {
  const groups: { group: Group; seconds: number }[] = [];
  for (const file of files.toSorted()) {
    const added = usualSeconds(file);
    const isBeside = (other: string): boolean =>
      dirname(other) === dirname(file) && sharesProcess(other) && sharesProcess(file);
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
