import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";

import { assert } from "chai";

import { atNight } from "../fixtures/nightly.ts";

/** How many commands run side by side. */
const LANES = 2;
/** A command of Hardhat, with help and errors of its own. */
const OF_HARDHAT = "deploy";

/** How a command ended. */
interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a command of the project to its end. None of these starts a service. */
function run(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { timeout: 300_000 }, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode, stdout, stderr });
    });
  });
}

const queue: (() => Promise<void>)[] = [];

/** Queues a command and returns a function that waits for its end. {@link LANES} commands run at a time. */
function plan(...args: string[]): () => Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>();
  queue.push(async () => {
    resolve(await run(...args));
  });
  return () => promise;
}

before(() => {
  const lane = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) await next();
  };
  for (let started = 0; started < LANES; started += 1) void lane();
});

const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };
/** The files that the scripts run; several scripts run the same file with other arguments. */
const commands = new Set(
  Object.entries(scripts)
    .filter(([name]) => name !== OF_HARDHAT)
    .map(([, line]) => /^node (?:scripts\/bootstrap\.mjs )?(\S+)/.exec(line)?.[1] ?? line),
);

const USAGE = /^usage: npm (start|test|run [a-z:-]+) -- (\[|--[a-z])/m;

describe("the commands of package.json", () => {
  for (const [index, script] of [...commands].entries()) {
    const refused = plan(script, "--sideways");
    // The same function answers both, so one command shows that they agree.
    const helped = atNight(true, index === 0) ? plan(script, "--help") : undefined;
    it(`${script} prints its usage for --help and for an unknown option`, async () => {
      const unknown = await refused();
      assert.strictEqual(unknown.code, 2, unknown.stderr);
      assert.match(unknown.stderr, /^Unknown option '--sideways'\.\n/);
      assert.match(unknown.stderr, USAGE);
      assert.notMatch(unknown.stderr, /^ +at /m);
      const help = await helped?.();
      if (help === undefined) return;
      assert.strictEqual(help.code, 0, help.stderr);
      assert.match(help.stdout, USAGE);
      assert.ok(unknown.stderr.includes(help.stdout.trim()), unknown.stderr);
    });
  }
});

describe("a mistake in the arguments", () => {
  const noPort = (given: string) =>
    new RegExp(`^--port-base must be a whole number from 1 to 65520, not "${given}"\\.\\n`);
  const mistakes: [args: string[], fault: RegExp][] = [
    [["scripts/start.ts", "--only"], /^Option '--only <value>' argument missing/],
    [["scripts/start.ts", "--only", "chains,moon"], /no service "moon"; the services are chains,/],
    ...atNight(["many", "0", "-1", "1.5", "65521", "70000"], ["-1", "65521"]).map((given): [string[], RegExp] => [
      ["scripts/start.ts", "--port-base", given],
      noPort(given),
    ]),
    [["scripts/start.ts", "now"], /^Unexpected argument 'now'/],
    [
      ["scripts/demo.ts", "--scenario", "haste"],
      /^--scenario: "haste" is not one of accepted, auto-release, abandoned/,
    ],
    [["scripts/demo.ts", "--stack", "no/such/file.json"], /start the marketplace with `npm start` first/],
    [["scripts/test.ts", "--only", "everything"], /^--only: unknown stage "everything" \(one of lint, contracts,/],
    [["scripts/test.ts", "test/e2e/commands.test.ts"], /^Files need the one stage that they belong to/],
    [["scripts/test.ts", "--only", "api", "test/api/none.test.ts"], /^There is no file test\/api\/none\.test\.ts/],
    [["test/bench/start.ts", "--port-base", "70000"], noPort("70000")],
    [["test/bench/latency.ts", "--deals", "few"], /^--deals must be a whole number from 1 to 100000, not "few"/],
    [["test/bench/indexing.ts", "--only", "live,moon"], /^--only: "moon" is none of live, mapping, queries, catchUp/],
  ];
  for (const [args, fault] of mistakes) {
    const ended = plan(...args);
    it(`${args.join(" ")} names the mistake, without a stack trace`, async () => {
      const { code, stderr } = await ended();
      assert.ok(code === 1 || code === 2, `exit code ${code}`);
      assert.match(stderr, fault);
      assert.notMatch(stderr, /^ +at /m);
    });
  }
});
