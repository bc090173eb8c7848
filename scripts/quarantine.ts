// `npm run quarantine`: the operator's command, on the running local marketplace unless MONGODB_URI names a database.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { StackFacts } from "./local/facts.ts";

const FACTS = join(".local", "stack.json");

if ((process.env["MONGODB_URI"] ?? "") === "" && existsSync(FACTS)) {
  const { mongodbUri } = JSON.parse(readFileSync(FACTS, "utf8")) as StackFacts;
  if (mongodbUri !== undefined) process.env["MONGODB_URI"] = mongodbUri;
}
await import("../api/quarantine.ts");
