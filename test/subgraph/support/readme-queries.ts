import { readFileSync } from "node:fs";
import { join } from "node:path";

import { SUBGRAPH_SOURCES } from "../../../scripts/local/paths.ts";

/** The queries of subgraph/queries.md by their names. */
export function readQueries(): ReadonlyMap<string, string> {
  const page = readFileSync(join(SUBGRAPH_SOURCES, "queries.md"), "utf8");
  const queries = [...page.matchAll(/^```graphql\n(query (\w+)[^]*?)^```$/gm)];
  return new Map(queries.map(([, text = "", name = ""]) => [name, text]));
}
