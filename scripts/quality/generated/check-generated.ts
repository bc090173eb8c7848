/**
 * Compares the committed generated files with their sources and exits with 1 when one is stale. `--write` (`npm run
 * generate`) updates them instead.
 */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { format } from "prettier";

import { apiDescription, routes } from "../../../api/app.ts";
import { readArguments } from "../../command/arguments.ts";
import { apiAbis, sdkAbis, subgraphAbi } from "./abis.ts";
import { errorsPage } from "./errors-page.ts";
import { apiTypes } from "./sdk-sources.ts";

interface GeneratedFile {
  /** Path from the root of the repository. */
  path: string;
  source: string;
  generate: () => string | Promise<string>;
}

const files: readonly GeneratedFile[] = [
  {
    path: "api/chain/abis.ts",
    source: "the interfaces of the contracts",
    generate: apiAbis,
  },
  {
    path: "api/openapi.json",
    source: "the schemas of the API's routes",
    generate: () => `${JSON.stringify(apiDescription(), null, 2)}\n`,
  },
  {
    path: "docs/api/errors.md",
    source: "the catalogue of errors and the routes",
    generate: () => format(errorsPage(routes), { parser: "markdown", printWidth: 120 }),
  },
  {
    path: "sdk/src/generated/api-types.ts",
    source: "the schemas of the API's routes",
    generate: () => apiTypes(apiDescription()),
  },
  {
    path: "sdk/src/generated/abis.ts",
    source: "the interfaces of the contracts",
    generate: sdkAbis,
  },
  ...(["EscrowV2", "ScoreV2", "ResolverV2"] as const).map((contract) => ({
    path: `subgraph/abis/${contract}.json`,
    source: `the events of ${contract}`,
    generate: () => subgraphAbi(contract),
  })),
];

const HELP = `usage: npm run generate -- [--help]

Compares the committed generated files (${files.map(({ path }) => path).join(", ")}) with their sources.
  --write   update them (npm run generate does)
  --help    this text`;

const { values } = readArguments(HELP, { write: { type: "boolean" } });
const isWriting = values.write === true;
let stale = 0;
for (const { path, source, generate } of files) {
  const absolute = fileURLToPath(new URL(`../../../${path}`, import.meta.url));
  const fresh = await generate();
  const committed = await readFile(absolute, "utf8").catch(() => "");
  if (committed === fresh) continue;
  if (isWriting) {
    await writeFile(absolute, fresh);
    console.log(`${path}: written from ${source}`);
  } else {
    stale += 1;
    console.error(`${path} is stale: ${source} have changed. Run: npm run generate`);
  }
}
if (stale > 0) process.exitCode = 1;
