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
    const write = (test, status) => {
      const result = {
        stage: process.env.TEST_STAGE ?? "contracts",
        file: test.file === undefined ? "" : relative(process.cwd(), test.file),
        title: test.titlePath().join(" › "),
        status,
      };
      appendFileSync(file, `${JSON.stringify(result)}\n`);
    };
    const { EVENT_TEST_PASS, EVENT_TEST_FAIL, EVENT_TEST_PENDING } = Runner.constants;
    runner.on(EVENT_TEST_PASS, (test) => write(test, "passed"));
    runner.on(EVENT_TEST_FAIL, (test) => write(test, "failed"));
    runner.on(EVENT_TEST_PENDING, (test) => write(test, "skipped"));
  }
};
