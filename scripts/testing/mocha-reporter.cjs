// The spec reporter, which also writes a JSON line for each test (see results.ts). Mocha loads reporters by require.
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
        ...(status === "started" ? { at: Date.now() } : {}),
      };
      appendFileSync(file, `${JSON.stringify(result)}\n`);
    };
    const events = Runner.constants;
    // If the process dies or hangs, the last start names the culprit. Mocha reports a failed hook as a failure.
    runner.on(events.EVENT_HOOK_BEGIN, (hook) => write(hook, "started"));
    runner.on(events.EVENT_TEST_BEGIN, (test) => write(test, "started"));
    runner.on(events.EVENT_TEST_PASS, (test) => write(test, "passed"));
    runner.on(events.EVENT_TEST_FAIL, (test) => write(test, "failed"));
    runner.on(events.EVENT_TEST_PENDING, (test) => write(test, "skipped"));
  }
};
