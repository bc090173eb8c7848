import { relative } from "node:path";
import { env } from "node:process";
import type { TestEvent } from "node:test/reporters";

import type { TestResult } from "./results.ts";

/** Reporter for `node --test`: one JSON line a test with the titles of its suites (see results.ts). */
export default async function* nodeReporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const stage = env["TEST_STAGE"] ?? "node";
  const titles: string[] = [];
  for await (const event of source) {
    if (event.type === "test:start") {
      titles.length = event.data.nesting;
      titles.push(event.data.name);
    }
    if (event.type !== "test:pass" && event.type !== "test:fail") continue;
    const { data } = event;
    // A suite is no test; it is counted only when it failed by itself (a hook threw), so that nothing is hidden.
    const isSuite = data.details.type === "suite";
    const causedByChildren =
      event.type === "test:fail" &&
      "failureType" in event.data.details.error &&
      event.data.details.error.failureType === "subtestsFailed";
    if (isSuite && (event.type === "test:pass" || causedByChildren)) continue;
    const skipped = data.skip !== undefined || data.todo !== undefined;
    const result: TestResult = {
      stage,
      file: data.file === undefined ? "" : relative(process.cwd(), data.file),
      title: [...titles.slice(0, data.nesting), data.name].join(" › "),
      status: skipped ? "skipped" : event.type === "test:pass" ? "passed" : "failed",
    };
    yield `${JSON.stringify(result)}\n`;
  }
}
