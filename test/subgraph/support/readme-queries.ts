import { readFileSync } from "node:fs";
import { join } from "node:path";

import { SUBGRAPH_SOURCES } from "../../../scripts/local/paths.ts";

/** The queries of the subgraph's README by their names. */
export function readQueries(): ReadonlyMap<string, string> {
  const readme = readFileSync(join(SUBGRAPH_SOURCES, "README.md"), "utf8");
  const queries = [...readme.matchAll(/^```graphql\n(query (\w+)[^]*?)^```$/gm)];
  return new Map(queries.map(([, text = "", name = ""]) => [name, text]));
}
