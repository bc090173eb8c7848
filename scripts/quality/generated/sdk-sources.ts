import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createClient } from "@hey-api/openapi-ts";
import { format } from "prettier";

const FORMAT = { parser: "typescript", printWidth: 120 } as const;

/** The types of every request and answer, for the client in sdk/. */
export async function apiTypes(description: object): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "api-types-"));
  try {
    await createClient({
      input: description as Record<string, unknown>,
      output: { path },
      plugins: ["@hey-api/typescript"],
      logs: { level: "silent", file: false },
    });
    return await format(await readFile(join(path, "types.gen.ts"), "utf8"), FORMAT);
  } finally {
    await rm(path, { recursive: true, force: true });
  }
}
