import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

import { assert } from "chai";

import { isPidRunning } from "../../scripts/local/process-identity.ts";
import { conformance, conformancePage, staleness } from "../../scripts/testing/conformance.ts";
import { groupsOf } from "../../scripts/testing/groups.ts";
import { runMochaFile, runMochaFiles } from "../../scripts/testing/mocha-file.ts";
import { campaignNotes } from "../../scripts/testing/nightly-page.ts";
import { isLeftToNight, NIGHT_FILES, testedCode } from "../../scripts/testing/nightly.ts";
import { appendResult, clearResults, readResults, resultsFile } from "../../scripts/testing/results.ts";
import type { TestResult } from "../../scripts/testing/results.ts";
import { retryFailed } from "../../scripts/testing/retry.ts";
import slowFiles from "../../scripts/testing/slow-files.json" with { type: "json" };
import { until } from "../fixtures/until.ts";

const STAGE = "runner-test";
const AMPLE_MS = 120_000;

describe("the test runner", () => {
  let dir: string;
  before(() => {
    dir = mkdtempSync(join(tmpdir(), "test-runner-"));
  });
  after(() => {
    rmSync(dir, { recursive: true, force: true });
  });

  /** Runs a test file with this text and returns how its tests ended. */
  async function outcomeOf(text: string, { limitMs = AMPLE_MS, signal = new AbortController().signal } = {}) {
    const file = join(dir, "sample.test.ts");
    writeFileSync(file, text);
    const { results, output } = await runMochaFile({ stage: STAGE, file, env: {}, limitMs, signal });
    return { results: results.map(({ title, status }) => `${status}: ${title}`), output };
  }

  it("reports each test with the titles of its suites", async () => {
    const { results } = await outcomeOf(`
      describe("suite", () => {
        it("holds", () => {});
        it("breaks", () => { throw new Error("broken"); });
        it.skip("waits");
      });`);
    assert.deepEqual(results, ["passed: suite › holds", "failed: suite › breaks", "skipped: suite › waits"]);
  });

  it("knows the slow files of a fresh clone by names that exist", () => {
    for (const file of Object.keys(slowFiles)) assert.isTrue(existsSync(file), file);
  });

  it("counts a hook that throws as a failure", async () => {
    const { results } = await outcomeOf(`
      describe("suite", () => {
        before(() => { throw new Error("broken"); });
        it("never runs", () => {});
      });`);
    assert.deepEqual(results, ['failed: suite › "before all" hook for "never runs"']);
  });

  it("fails a file without a test, and one that can't be loaded", async () => {
    assert.deepEqual((await outcomeOf("")).results, ["failed: (no test ran)"]);
    const { results, output } = await outcomeOf('import "./missing.ts";');
    assert.deepEqual(results, ["failed: (no test ran)"]);
    assert.match(output, /missing\.ts/);
  });

  it("refuses a file in which a test is marked as the only one", async () => {
    const { results } = await outcomeOf('it.only("alone", () => {}); it("forgotten", () => {});');
    assert.deepEqual(results, ["failed: (no test ran)"]);
  });

  it("keeps what a process that dies has reported, and names the test that ran", async () => {
    const { results } = await outcomeOf(`
      it("holds", () => {});
      it("dies", () => { process.kill(process.pid, "SIGKILL"); return new Promise(() => {}); });`);
    assert.deepEqual(results, ["passed: holds", "failed: dies (ended by SIGKILL)"]);
  });

  it("fails a file whose process reports a failure after its last test", async () => {
    const { results } = await outcomeOf('process.on("exit", () => { process.exitCode = 3; }); it("holds", () => {});');
    assert.deepEqual(results, ["passed: holds", "failed: (exit code 3)"]);
  });

  it("ends a file that hangs, with the processes that it has started, and names the test that ran", async () => {
    const { results, output } = await outcomeOf(
      `import { spawn } from "node:child_process";
      it("hangs", () => {
        console.log("child " + spawn("sleep", ["600"], { stdio: "inherit" }).pid);
        for (;;);
      });`,
      { limitMs: 5_000 },
    );
    assert.deepEqual(results, ["failed: hangs (still running after 5 s)"]);
    const child = Number(/child (\d+)/.exec(output)?.[1]);
    await until("its child has ended", () => Promise.resolve(!isPidRunning(child)));
  });

  it("ends a file whose stack is lost", async () => {
    const { results } = await outcomeOf('it("waits", () => new Promise(() => setTimeout(() => {}, 600_000)));', {
      signal: AbortSignal.abort(),
    });
    assert.deepEqual(results, ["failed: (the stack was lost)"]);
  });

  describe("with several files in one process", () => {
    /** Runs test files with these texts and returns how their tests ended, by file. */
    async function outcomesOf(...texts: string[]) {
      const files = texts.map((text, place) => {
        const file = join(relative(".", dir), `sample-${place}.test.ts`);
        writeFileSync(file, text);
        return file;
      });
      const { signal } = new AbortController();
      const outcomes = await runMochaFiles({ stage: STAGE, files, env: {}, limitMs: AMPLE_MS, signal });
      assert.sameMembers(
        outcomes.map(({ file }) => file),
        files,
      );
      return outcomes
        .toSorted((one, other) => one.file.localeCompare(other.file))
        .map(({ file, results, seconds }) => {
          assert.isTrue(results.every((result) => result.file === file));
          return { results: results.map(({ title, status }) => `${status}: ${title}`), seconds };
        });
    }
    const resultsOf = async (...texts: string[]) => (await outcomesOf(...texts)).map(({ results }) => results);
    const PID = 'it("runs in " + process.pid, () => {});';

    it("reports each with its own results and time", async () => {
      const started = Date.now();
      const [first, second] = await outcomesOf(
        PID,
        `${PID} it("lasts", () => new Promise((end) => setTimeout(end, 1_500)));`,
      );
      assert.strictEqual(second?.results[0], first?.results[0]);
      assert.deepEqual(second?.results[1], "passed: lasts");
      assert.isAtLeast(second?.seconds ?? 0, 1.4);
      assert.isAtMost((first?.seconds ?? 0) + (second?.seconds ?? 0), (Date.now() - started) / 1000);
    });

    it("runs alone what a process that dies didn't come to", async () => {
      const dies = 'it("dies", () => { process.kill(process.pid, "SIGKILL"); return new Promise(() => {}); });';
      const holds = 'it("holds", () => {});';
      assert.deepEqual(await resultsOf(holds, `${dies} ${holds}`, holds), [
        ["passed: holds"],
        ["failed: dies (ended by SIGKILL)"],
        ["passed: holds"],
      ]);
    });

    it("fails the one alone that has no test or can't be loaded", async () => {
      const holds = 'it("holds", () => {});';
      const outcomes = [["passed: holds"], ["failed: (no test ran)"], ["passed: holds"]];
      assert.deepEqual(await resultsOf(holds, "", holds), outcomes);
      assert.deepEqual(await resultsOf(holds, 'import "./missing.ts";', holds), outcomes);
    });

    it("fails one of them when the process reports a failure after its last test", async () => {
      const exits = 'process.on("exit", () => { process.exitCode = 3; });';
      const [first, last] = await resultsOf(`${exits} it("holds", () => {});`, 'it("holds", () => {});');
      assert.deepEqual([first, last], [["passed: holds"], ["passed: holds", "failed: (exit code 3)"]]);
    });
  });

  it("puts files of one stage together, but none that starts stacks or is left to the night", () => {
    const together = ["test/sdk/encryption/encryption.test.ts", "test/sdk/events.test.ts"] as const;
    const night = "test/api/analytics/market-kill.test.ts";
    const others = ["test/api/analytics/client.test.ts", "test/e2e/deals/sdk.test.ts", "test/e2e/deals/tour.test.ts"];
    assert.sameDeepMembers(groupsOf([...others, ...together, night]), [
      [...together],
      ...[...others, night].map((file): [string] => [file]),
    ]);
  });

  describe("with a second run of what failed", () => {
    beforeEach(() => {
      clearResults(STAGE);
    });
    after(() => {
      rmSync(resultsFile(STAGE), { force: true });
    });

    const result = (file: string, title: string, status: TestResult["status"]): TestResult => ({
      stage: STAGE,
      file,
      title,
      status,
    });

    it("runs each failed file once, counts its second results, and lists as flaky what then passes", async () => {
      for (const first of [
        result("a.test.ts", "steady", "passed"),
        result("b.test.ts", "broken", "failed"),
        result("b.test.ts", "moody", "failed"),
        result("b.test.ts", "sound", "passed"),
      ]) {
        appendResult(resultsFile(STAGE), first);
      }
      const second = [
        result("b.test.ts", "broken", "failed"),
        result("b.test.ts", "moody", "passed"),
        result("b.test.ts", "sound", "passed"),
      ];
      const ran: string[] = [];
      const flaky = await retryFailed(STAGE, (file) => {
        ran.push(file);
        return Promise.resolve(second);
      });
      assert.deepEqual(ran, ["b.test.ts"]);
      assert.deepEqual(flaky, [{ file: "b.test.ts", title: "moody" }]);
      assert.deepEqual(readResults(STAGE), [result("a.test.ts", "steady", "passed"), ...second]);
    });

    it("lists no test as flaky that the second run skipped or didn't come to", async () => {
      for (const title of ["skipped later", "not reached later"]) {
        appendResult(resultsFile(STAGE), result("a.test.ts", title, "failed"));
      }
      const second = [
        result("a.test.ts", "skipped later", "skipped"),
        result("a.test.ts", "first (ended by SIGKILL)", "failed"),
      ];
      assert.deepEqual(await retryFailed(STAGE, () => Promise.resolve(second)), []);
    });

    it("lists a file as flaky that died at first", async () => {
      appendResult(resultsFile(STAGE), result("a.test.ts", "dies (ended by SIGKILL)", "failed"));
      const flaky = await retryFailed(STAGE, () => Promise.resolve([result("a.test.ts", "dies", "passed")]));
      assert.deepEqual(flaky, [{ file: "a.test.ts", title: "dies (ended by SIGKILL)" }]);
    });
  });
});

describe("the files that npm test leaves to the night", () => {
  it("exist, and so does the code that they test", () => {
    for (const { file, code = [] } of NIGHT_FILES) {
      for (const path of [file, ...code]) assert.isTrue(existsSync(path), path);
    }
  });

  it("are left out while their code is the one that the last nightly run tested", () => {
    const tested = testedCode(() => true);
    for (const { file, code } of NIGHT_FILES) {
      assert.isTrue(isLeftToNight(file, tested), file);
      assert.strictEqual(isLeftToNight(file, { ...tested, [file]: "of other code" }), code === undefined, file);
      assert.strictEqual(isLeftToNight(file, {}), code === undefined, file);
    }
    assert.isFalse(isLeftToNight("test/api/http/bounds.test.ts", tested));
  });

  it("print their sizes and seeds for the page of the nightly run", () => {
    const output = "size: 600 seconds of kills\n  seed: 7\n  ✔ resize: 3 (seed: 4)\n";
    assert.deepEqual(campaignNotes(output), ["600 seconds of kills", "seed: 7"]);
  });
});

describe("the conformance check", () => {
  const problemsOf = (title: string) =>
    conformance([{ stage: STAGE, file: "a.test.ts", title, status: "passed" }]).problems.filter((problem) =>
      problem.startsWith("a.test.ts"),
    );

  it("takes four ids in the title of a test with its suites, and refuses five", () => {
    assert.deepEqual(problemsOf("[S1.01] suite › [S1.02, S1.03] holds [D1]"), []);
    const [problem] = problemsOf("[S1.01] suite › [S1.02, S1.03] holds [D1] [D2]");
    assert.match(problem ?? "", /cites 5 ids; 4 at most/);
  });

  it("needs a passing test for every decision whose feature exists", () => {
    const result = (title: string, status: TestResult["status"]) => ({
      stage: STAGE,
      file: "a.test.ts",
      title,
      status,
    });
    const missing = conformance([result("[D1] holds", "passed"), result("[D2] breaks", "failed")]).problems.filter(
      (problem) => problem.startsWith("The decision"),
    );
    assert.notInclude(missing, "The decision D1 is proven by no passing test.");
    assert.includeMembers(missing, [
      "The decision D2 is proven by no passing test.",
      "The decision D51 is proven by no passing test.",
      "The decision D61 is proven by no passing test.",
    ]);
    assert.strictEqual(missing.length, 55);
  });

  it("counts no file that is left to the night as a proof", () => {
    const [night] = NIGHT_FILES;
    const found = conformance([
      { stage: STAGE, file: night?.file ?? "", title: "[D1] at night", status: "passed" },
      { stage: STAGE, file: "a.test.ts", title: "[D2] each push", status: "passed" },
    ]);
    assert.deepEqual([...found.proofs.keys()], ["D2"]);
  });

  it("names the tests that the page lacks, and those that are gone", () => {
    const pageOf = (...titles: string[]) =>
      conformancePage(
        conformance(titles.map((title) => ({ stage: STAGE, file: "a.test.ts", title, status: "passed" }))),
      );
    const written = pageOf("[D1] stays", "[D1] goes");
    assert.strictEqual(staleness(written, written), undefined);
    assert.strictEqual(
      staleness(written, pageOf("[D1] stays", "[D1] comes", "[D1] is new")),
      'lacks "a.test.ts: [D1] comes", "a.test.ts: [D1] is new"; has "a.test.ts: [D1] goes" too much',
    );
  });

  it("refuses an id that doesn't exist", () => {
    assert.match(problemsOf("[S1.99] holds")[0] ?? "", /cites S1\.99, which does not exist/);
  });
});
