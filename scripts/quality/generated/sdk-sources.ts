import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createClient } from "@hey-api/openapi-ts";
import { format } from "prettier";

import { escrowAbi } from "../../../api/chain/abis.ts";
import { IResolver__factory } from "../../../typechain-types/factories/contracts/interfaces/IResolver__factory.ts";

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

/** The interfaces of the contracts that wallets call, for the client in sdk/. */
export async function abiModule(): Promise<string> {
  const abis = { escrowAbi, resolverAbi: IResolver__factory.abi };
  const exports = Object.entries(abis).map(([name, abi]) => {
    const contract = name.startsWith("escrow") ? "IEscrow" : "IResolver";
    return `/** ${contract} */\nexport const ${name} = ${JSON.stringify(abi)} as const;\n`;
  });
  const header = "// Generated from contracts/interfaces by `npm run generate`.\n\n";
  return format(header + exports.join("\n"), FORMAT);
}
