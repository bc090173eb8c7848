// The official conformance suite against the endpoint: with the suite's own fixtures behind the same handler and middleware, and
// with what needs none against the service's tools.
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assert } from "chai";

import { createApp } from "../../../api/app.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { createSuiteServer } from "../../fixtures/mcp-suite/server.ts";

const PACKAGE = "node_modules/@modelcontextprotocol/conformance";
const BASELINES = "test/fixtures/mcp-suite";
/** Revisions, each with the scenarios that it requires. */
const REVISIONS = ["2026-07-28", "2025-11-25"] as const;
/** What needs no fixture. */
const WITHOUT_FIXTURES = [
  "server-stateless",
  "tools-list",
  "http-header-validation",
  "dns-rebinding-protection",
  "caching",
  "sep-2164-resource-not-found",
];
const RUN_MS = 120_000;

interface Check {
  id: string;
  status: string;
  errorMessage?: string;
}

/** The entries of a list in the suite's files, which have one a line. */
function listIn(file: string): string[] {
  const [, list = ""] = /^server:\n((?:(?: +- .*| *#.*|)\n)*)/m.exec(readFileSync(file, "utf8")) ?? [];
  return [...list.matchAll(/^ +- ([\w:.-]+)/gm)].flatMap(([, entry]) => (entry === undefined ? [] : [entry]));
}

/** Runs the suite's program. @returns its exit code, and what it printed */
async function runSuite(args: readonly string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const command = [join(PACKAGE, "dist/index.js"), "server", ...args];
    execFile(process.execPath, command, { timeout: RUN_MS, maxBuffer: 1e8 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr });
    });
  });
}

/** The failed checks of a scenario; a warning counts, as it does for the suite. */
async function failuresOf(folder: string, scenario: string): Promise<Check[]> {
  const found = (await readdir(folder)).find((name) => new RegExp(`^server-${scenario}-\\d{4}-`).test(name));
  assert.ok(found, `${scenario} wasn't run`);
  const checks = JSON.parse(await readFile(join(folder, found, "checks.json"), "utf8")) as Check[];
  assert.isNotEmpty(checks, scenario);
  return checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
}

/** Holds the failed checks of a scenario against the entries of a baseline. */
function assertExpected(failures: readonly Check[], scenario: string, baseline: readonly string[]): void {
  const expected = baseline.filter((entry) => entry.split(":")[0] === scenario);
  if (expected.includes(scenario)) {
    assert.isNotEmpty(failures, `${scenario} passes: take it out of the expected failures`);
    return;
  }
  const found = failures.map(({ id }) => `${scenario}:${id}`);
  const told = failures.map(({ id, errorMessage }) => `${id}: ${String(errorMessage)}`).join("\n");
  assert.sameMembers([...new Set(found)], expected, told);
}

describe("the official suite of the Model Context Protocol", () => {
  let api: TestApi;
  let server: Server;
  let folder: string;
  const urlOf = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mcp-suite-"));
    api = await startTestApi({ env: { limits: limitsWith({ keyless: 100_000 }) }, oneProcess: "a server of its own" });
    const handle = createApp(api.container, { createMcpServer: createSuiteServer }).callback();
    server = createServer((request, response) => void handle(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await api.close();
    await rm(folder, { recursive: true, force: true });
  });

  for (const revision of REVISIONS) {
    describe(`of ${revision}, with its fixtures`, () => {
      const baselineFile = join(BASELINES, `${revision}.yaml`);
      const baseline = listIn(baselineFile);
      const results = () => join(folder, revision);
      let run: { code: number; output: string };

      before(async () => {
        const args = ["--url", urlOf(), "--requirements", revision, "--expected-failures", baselineFile];
        run = await runSuite([...args, "--output-dir", results()]);
      });

      it("says that nothing failed but what is expected", () => {
        assert.strictEqual(run.code, 0, run.output.slice(-3_000));
      });

      for (const scenario of listIn(join(PACKAGE, "requirements", `${revision}.yaml`))) {
        const expects = baseline.includes(scenario) ? "fails as expected in" : "passes";
        it(`${expects} ${scenario}`, async () => {
          assertExpected(await failuresOf(results(), scenario), scenario, baseline);
        });
      }
    });
  }

  describe("without fixtures, against the service's own tools", () => {
    const baseline = listIn(join(BASELINES, "service.yaml"));

    for (const scenario of WITHOUT_FIXTURES) {
      it(`passes ${scenario}`, async () => {
        const results = join(folder, "service");
        const args = ["--url", `${api.url}/mcp`, "--scenario", scenario, "--spec-version", "2026-07-28"];
        await runSuite([...args, "--output-dir", results]);
        assertExpected(await failuresOf(results, scenario), scenario, baseline);
      });
    }
  });

  it("has a reason for each expected failure", () => {
    for (const name of readdirSync(BASELINES).filter((file) => file.endsWith(".yaml"))) {
      const lines = readFileSync(join(BASELINES, name), "utf8").split("\n");
      for (const line of lines.filter((entry) => /^ +- /.test(entry))) assert.match(line, / # \w.{10,}/, name);
    }
  });

  it("refuses a tool that needs what the client hasn't declared, with HTTP 400 and -32021", async () => {
    const method = "tools/call";
    const params = { name: "test_missing_capability", arguments: {} };
    const ask = async (capabilities: object) => {
      const _meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "test", version: "1.0.0" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
      };
      const answer = await fetch(urlOf(), {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": method,
          "mcp-name": params.name,
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
      });
      return { status: answer.status, body: (await answer.json()) as Record<string, any> };
    };
    const { status, body } = await ask({});
    assert.deepEqual([status, body["error"].code], [400, -32_021]);
    assert.deepEqual(body["error"].data.requiredCapabilities, { sampling: {} });
    const asked = await ask({ sampling: {} });
    assert.strictEqual(asked.status, 200);
    assert.strictEqual(asked.body["result"].resultType, "input_required");
  });
});
