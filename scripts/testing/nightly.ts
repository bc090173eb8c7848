// What `npm test` leaves to `npm run test:nightly`.
import { readFileSync, writeFileSync } from "node:fs";

import { hashFiles } from "../local/file-hash.ts";

/** A test file that `npm test` leaves to the night. */
export interface NightFile {
  file: string;
  /** What it adds to the tests of each push. */
  tests: string;
  /** Files and folders that it tests. `npm test` runs it too when they differ from those that the last nightly run tested. */
  code?: readonly string[];
}

const LOCAL = "scripts/local";
const STACK_FIXTURES = "test/e2e/support";

export const NIGHT_FILES: readonly NightFile[] = [
  {
    file: "test/api/analytics/market-kill.test.ts",
    tests: "workers that are killed at random while they compute the market's figures",
  },
  {
    file: "test/api/chain-follower/worker-kill.test.ts",
    tests: "workers that are killed at random while deals are made",
  },
  {
    file: "test/api/disputes/worker-kill.test.ts",
    tests: "workers that are killed at random while disputes are ruled",
  },
  {
    file: "test/api/events/kill.test.ts",
    tests: "API processes and workers that are killed at random while agents trade and write",
  },
  {
    file: "test/api/disputes/sending/sending-kill.test.ts",
    tests: "senders of rulings, killed between any two steps",
  },
  {
    file: "test/api/keeper/keeper-kill.test.ts",
    tests: "keepers that are killed at random while they finalize",
  },
  {
    file: "test/api/mcp/frameworks.test.ts",
    tests: "LangChain's and OpenAI's agents with the hosted tools",
    code: ["api/mcp", "docs/api/mcp-python.md", "test/api/mcp/frameworks", "scripts/testing/python-tools.ts"],
  },
  {
    file: "test/api/mcp/python-client.test.ts",
    tests: "deals through /mcp by the Python client of MCP",
    code: ["api/mcp", "test/api/mcp/python-client", "scripts/testing/python-tools.ts"],
  },
  {
    file: "test/api/messages/fan-out-kill.test.ts",
    tests: "workers that are killed at random while they hand out a topic's messages",
  },
  {
    file: "test/api/x402/payment-kill.test.ts",
    tests: "API processes, killed between any two steps of a payment",
  },
  {
    file: "test/e2e/commands.test.ts",
    tests: "what each command says to `--help` and to mistakes in its arguments",
    code: ["package.json", "scripts", "test/bench", "api/server.ts", "api/worker.ts"],
  },
  {
    file: "test/e2e/deals/python-client.test.ts",
    tests: "a Python client that is generated from the description",
    code: [
      "api/openapi.json",
      "docs/api/sign-in.md",
      "test/e2e/deals/python-client",
      "scripts/testing/python-tools.ts",
    ],
  },
  {
    file: "test/e2e/kill-and-continue.test.ts",
    tests: "each process of the stack, killed before or during a move of one deal",
  },
  {
    file: "test/e2e/lock.test.ts",
    tests: "the lock that one stack, install or compile holds",
    code: [`${LOCAL}/lock-file.mjs`, `${LOCAL}/lock.ts`],
  },
  {
    file: "test/e2e/orphan-blocks.test.ts",
    tests: "the blocks that a local chain has forgotten",
    code: [`${LOCAL}/orphan-blocks.ts`, `${LOCAL}/chain.ts`, `${LOCAL}/supervisor.ts`],
  },
  {
    file: "test/e2e/postgres-restart.test.ts",
    tests: "the local Postgres after a kill",
    code: [`${LOCAL}/postgres.ts`, `${LOCAL}/supervisor.ts`, `${LOCAL}/process-identity.ts`],
  },
  {
    file: "test/e2e/prove-verdicts.test.ts",
    tests: "the verdicts of `npm run prove`",
    code: ["scripts/quality/prove"],
  },
  {
    file: "test/e2e/stack-parts.test.ts",
    tests: "the parts of the local stack",
    code: [LOCAL],
  },
  {
    file: "test/e2e/stack.test.ts",
    tests: "the start and the stop of the local stack",
    code: [LOCAL, "scripts/start.ts", "scripts/command", STACK_FIXTURES],
  },
  {
    file: "test/e2e/test-runner.test.ts",
    tests: "the test runner",
    code: ["scripts/test.ts", "scripts/testing"],
  },
  {
    file: "test/sdk/package.test.ts",
    tests: "the package of the client",
    code: [
      ...["sdk/src", "sdk/package.json", "sdk/tsconfig.json", "package.json", "test/fixtures/sdk-package.ts"],
      ...[`${LOCAL}/client-packages.ts`, `${LOCAL}/tarball.ts`],
    ],
  },
];

const nightFiles: ReadonlyMap<string, NightFile> = new Map(NIGHT_FILES.map((night) => [night.file, night]));

/** Whether only the nightly run counts on this file. It may run in `npm test` too. */
export const isNightFile = (file: string): boolean => nightFiles.has(file);

/** Hashes of the code that the last nightly run has tested, by test file. */
const TESTED_CODE = "test/nightly-code.json";

/** Whether `npm test` leaves this file to the night. */
export function isLeftToNight(file: string, tested: Readonly<Record<string, string>> = readTestedCode()): boolean {
  const night = nightFiles.get(file);
  if (night === undefined) return false;
  return night.code === undefined || tested[file] === codeHash(night);
}

/** Hashes of the tested code after a run in which these files passed. Those of the others stay. */
export function testedCode(hasPassed: (file: string) => boolean): Record<string, string> {
  const tested = readTestedCode();
  for (const night of NIGHT_FILES) {
    if (night.code !== undefined && hasPassed(night.file)) tested[night.file] = codeHash(night);
  }
  return tested;
}

/** Records that these files passed, so that `npm test` leaves them to the night until their code changes. */
export function recordTestedCode(hasPassed: (file: string) => boolean): void {
  writeFileSync(TESTED_CODE, `${JSON.stringify(testedCode(hasPassed), undefined, 2)}\n`);
}

const codeHash = ({ file, code = [] }: NightFile): string => hashFiles([file, ...code]).slice(0, 16);

function readTestedCode(): Record<string, string> {
  return JSON.parse(readFileSync(TESTED_CODE, "utf8")) as Record<string, string>;
}
