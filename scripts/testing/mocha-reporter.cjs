// Mocha loads reporters by require: the spec reporter that also leaves one JSON line a test (see results.ts).
const { appendFileSync, mkdirSync } = require("node:fs");
const { dirname, relative } = require("node:path");
const { reporters, Runner } = require("mocha");

module.exports = class SpecWithResults extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const file = process.env.TEST_RESULTS;
    if (file === undefined) return;
    mkdirSync(dirname(file), { recursive: true });
    const write = (runnable, status) => {
      const result = {
        stage: process.env.TEST_STAGE ?? "contracts",
        file: runnable.file === undefined ? "" : relative(process.cwd(), runnable.file),
        title: runnable.titlePath().join(" › "),
        status,
      };
      appendFileSync(file, `${JSON.stringify(result)}\n`);
    };
    const events = Runner.constants;
    // What was started last names the culprit when the process dies or hangs. Mocha reports a failed hook as a failure.
    runner.on(events.EVENT_HOOK_BEGIN, (hook) => write(hook, "started"));
    runner.on(events.EVENT_TEST_BEGIN, (test) => write(test, "started"));
    runner.on(events.EVENT_TEST_PASS, (test) => write(test, "passed"));
    runner.on(events.EVENT_TEST_FAIL, (test) => write(test, "failed"));
    runner.on(events.EVENT_TEST_PENDING, (test) => write(test, "skipped"));
  }
};
