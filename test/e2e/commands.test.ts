import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";

/** Runs a command of the project to its end; none of these gets as far as starting something. */
function run(...args: string[]): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 60_000 });
  return { code: status, stdout, stderr };
}

const COMMANDS: [script: string, usage: RegExp][] = [
  ["scripts/start.ts", /^usage: npm start /],
  ["scripts/demo.ts", /^usage: npm run demo /],
  ["scripts/test.ts", /^usage: npm test /],
  ["scripts/conformance.ts", /^usage: npm run conformance /],
  ["test/bench/start.ts", /^usage: npm run bench:start /],
  ["test/bench/latency.ts", /^usage: npm run bench:latency /],
];

describe("the commands", () => {
  for (const [script, usage] of COMMANDS) {
    it(`${script} explains itself with --help, and refuses an option that it does not know with the same text`, () => {
      const help = run(script, "--help");
      assert.equal(help.code, 0, help.stderr);
      assert.match(help.stdout, usage);
      const unknown = run(script, "--sideways");
      assert.equal(unknown.code, 2);
      assert.match(unknown.stderr, /^Unknown option '--sideways'\.\n/);
      assert.ok(unknown.stderr.includes(help.stdout.trim()), unknown.stderr);
      assert.doesNotMatch(unknown.stderr, /^ +at /m);
    });
  }

  const mistakes: [args: string[], fault: RegExp][] = [
    [["scripts/start.ts", "--only"], /^Option '--only <value>' argument missing/],
    [["scripts/start.ts", "--only", "chains,moon"], /no service "moon"; the services are chains,/],
    [["scripts/start.ts", "--port-base", "many"], /^--port-base must be a port number from 1 to 65499, not "many"/],
    [["scripts/start.ts", "--port-base", "70000"], /^--port-base must be a port number/],
    [["scripts/start.ts", "now"], /^Unexpected argument 'now'/],
    [["scripts/demo.ts", "--scenario", "haste"], /^--scenario: "haste" is none of accepted, auto-release, abandoned/],
    [["scripts/demo.ts", "--stack", "no/such/file.json"], /start the marketplace with `npm start` first/],
    [["scripts/test.ts", "--only", "everything"], /^--only: unknown stage "everything" \(one of lint, contracts,/],
    [["scripts/test.ts", "test/e2e/commands.test.ts"], /^Single files need the one stage that they belong to/],
    [["scripts/test.ts", "--only", "api", "test/api/none.test.ts"], /^There is no file test\/api\/none\.test\.ts/],
  ];
  for (const [args, fault] of mistakes) {
    it(`${args.join(" ")} says what is wrong, without a stack trace`, () => {
      const { code, stderr } = run(...args);
      assert.ok(code === 1 || code === 2, `exit code ${code}`);
      assert.match(stderr, fault);
      assert.doesNotMatch(stderr, /^ +at /m);
    });
  }
});
