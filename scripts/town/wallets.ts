import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";

import type { Hex } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { z } from "zod";

const keysSchema = z.record(z.string(), z.templateLiteral(["0x", z.string().regex(/^[0-9a-f]{64}$/)]));

/**
 * The private keys of the residents by name. They are made at the town's first start, for this stack alone, and kept in a
 * file that only its owner can read.
 * @throws Error if the file is damaged
 */
export function residentKeys(file: string, names: readonly string[]): Readonly<Record<string, Hex>> {
  const known = existsSync(file) ? keysSchema.parse(JSON.parse(readFileSync(file, "utf8"))) : {};
  const keys = Object.fromEntries(names.map((name) => [name, known[name] ?? generatePrivateKey()]));
  if (names.some((name) => known[name] === undefined)) {
    writeFileSync(`${file}.new`, `${JSON.stringify({ ...known, ...keys }, undefined, 2)}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
  return keys;
}
