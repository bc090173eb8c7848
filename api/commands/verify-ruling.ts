// Verifies a ruling from the records and the chain. The production image has it as `node api/commands/verify-ruling.ts`.

import { ChainUnavailableError, DeploymentFileError } from "../chain/errors.ts";
import { ConfigurationError, loadChainSettings, loadDatabaseUri } from "../config/env.ts";
import { connectDatabase, DatabaseUnusableError } from "../db/connection.ts";
import { NothingToVerifyError, rulingVerification } from "../features/disputes/module.ts";
import type { Finding } from "../features/disputes/module.ts";
import { createLogger } from "../lib/logger.ts";
import { print, readArguments, runCommand, UsageError } from "./usage.ts";
import { connectChains } from "../platform.ts";

const HELP = `usage: npm run verify-ruling -- [--json] DISPUTE_ID

Recomputes what a ruling rests on: the hash of its document, the hash on chain, the facts and checks, the evidence, and the
outcome where the facts alone decided. An opinion of a judge or an admin can be read, not recomputed.
  --json    print one JSON object
  --help    this text

MONGODB_URI, RPC_URL_BASE_SEPOLIA, RPC_URL_BASE, DEPLOYMENT_BASE_SEPOLIA and DEPLOYMENT_BASE are read as by the API; by
default they are those of the running local marketplace. A schema or expression near its time limit may have another result
on a slower machine.
Exit codes: 0 all that can be verified holds; 1 something doesn't, or there is nothing to verify; 2 wrong arguments.`;

/** Reads the arguments; undefined when they ask for help. @throws UsageError */
function readCommand(args: string[]): { disputeId: string; asJson: boolean } | undefined {
  const { values, positionals } = readArguments({
    args,
    allowPositionals: true,
    options: { json: { type: "boolean", default: false }, help: { type: "boolean", default: false } },
  });
  if (values.help) return undefined;
  const [disputeId, ...others] = positionals;
  if (disputeId === undefined || others.length > 0) throw new UsageError("One dispute id is needed.");
  return { disputeId, asJson: values.json };
}

const MARKS = { true: "holds", false: "DOESN'T HOLD", null: "can't be verified" } as const;
const lineOf = ({ part, holds, detail }: Finding) => `${part}: ${MARKS[`${holds}`]}, ${detail}`;

async function run({ disputeId, asJson }: { disputeId: string; asJson: boolean }): Promise<number> {
  const log = createLogger({ level: "silent", name: "verify-ruling" });
  const chains = await connectChains(loadChainSettings());
  const connection = await connectDatabase(loadDatabaseUri(), log);
  const verification = rulingVerification(connection, { chains });
  try {
    const findings = await verification.verify(disputeId);
    const holds = findings.every((finding) => finding.holds !== false);
    if (asJson) print(JSON.stringify({ disputeId, holds, findings }, null, 2));
    else print([...findings.map(lineOf), holds ? "The ruling holds." : "The ruling doesn't hold."].join("\n"));
    return holds ? 0 : 1;
  } finally {
    await verification.close();
    await connection.close();
  }
}

await runCommand({
  help: HELP,
  read: readCommand,
  run,
  expected: [
    ChainUnavailableError,
    ConfigurationError,
    DatabaseUnusableError,
    DeploymentFileError,
    NothingToVerifyError,
  ],
});
