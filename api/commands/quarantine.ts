// The operator's command for quarantined escrows. The production image has it as `node api/commands/quarantine.ts`.
import { setTimeout as sleep } from "node:timers/promises";

import { NETWORKS } from "../config/constants.ts";
import type { Network } from "../config/constants.ts";
import { ConfigurationError, loadDatabaseUri } from "../config/env.ts";
import { connectDatabase, DatabaseUnusableError } from "../db/connection.ts";
import { quarantineOf } from "../features/chain-follower/module.ts";
import type { QuarantineControl, QuarantinedEscrow } from "../features/chain-follower/module.ts";
import { createLogger } from "../lib/logger.ts";
import { print, readArguments, runCommand, UsageError } from "./usage.ts";

const HELP = `usage: npm run quarantine -- [list | retry ESCROW_ID... | retry --all] [--network NAME] [--wait SECONDS] [--json]

Shows the escrows whose moves couldn't be applied, and retries them. Such an escrow waits alone in quarantine; the
follower of a worker retries it by itself after 5 seconds to an hour.
  list                 every quarantined escrow with its last error, oldest first (the default)
  retry ESCROW_ID...   has these escrows retried now and says how it went
  retry --all          the same for every quarantined escrow
  --network NAME       only escrows of ${NETWORKS.join(" or ")}
  --wait SECONDS       how long to wait for the result of a retry, 0 to 3600 (default 30)
  --json               print one JSON object, with the stack traces
  --help               this text

MONGODB_URI names the database, as for API and worker. In the production image the command is node api/commands/quarantine.ts.
Exit codes: 0 listed, or all of them left the quarantine (with --wait 0: will be retried); 1 at least one stays in
quarantine, isn't in it, or wasn't retried in time, or the database can't be used; 2 wrong arguments.`;

const ESCROW_ID = /^0x[0-9a-f]{64}$/i;
const MAX_WAIT_SECONDS = 3_600;
const POLL_MS = 200;
const MILLISECONDS = 1_000;

/** Something an operator has to know: printed without a stack trace. */
class CommandError extends Error {}

interface Command {
  verb: "list" | "retry";
  network: Network | undefined;
  /** Undefined: all. */
  escrowIds: `0x${string}`[] | undefined;
  waitMs: number;
  asJson: boolean;
}

/** Reads the arguments; undefined when they ask for help. @throws UsageError */
function readCommand(args: string[]): Command | undefined {
  const { values, positionals } = readArguments({
    args,
    allowPositionals: true,
    options: {
      network: { type: "string" },
      all: { type: "boolean", default: false },
      wait: { type: "string", default: "30" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return undefined;
  const [verb = "list", ...ids] = positionals;
  if (verb !== "list" && verb !== "retry") throw new UsageError(`"${verb}" is neither list nor retry.`);
  const network = NETWORKS.find((name) => name === values.network);
  if (values.network !== undefined && network === undefined) {
    throw new UsageError(`--network must be ${NETWORKS.join(" or ")}, not "${values.network}".`);
  }
  const odd = ids.find((id) => !ESCROW_ID.test(id));
  if (odd !== undefined) throw new UsageError(`"${odd}" isn't an escrow id: 0x and 64 hexadecimal digits.`);
  if (verb === "list" && (ids.length > 0 || values.all)) throw new UsageError("list takes no escrow ids and no --all.");
  if (verb === "retry" && ids.length === 0 && !values.all) throw new UsageError("retry needs escrow ids or --all.");
  if (verb === "retry" && ids.length > 0 && values.all)
    throw new UsageError("retry takes escrow ids or --all, not both.");
  const wait = /^\d+$/.test(values.wait) ? Number(values.wait) : Number.NaN;
  if (!(wait <= MAX_WAIT_SECONDS)) {
    throw new UsageError(`--wait must be a whole number from 0 to ${MAX_WAIT_SECONDS}, not "${values.wait}".`);
  }
  const escrowIds = ids.length === 0 ? undefined : [...new Set(ids.map((id) => id.toLowerCase() as `0x${string}`))];
  return { verb, network, escrowIds, waitMs: wait * MILLISECONDS, asJson: values.json };
}

const printJson = (value: object) => {
  print(JSON.stringify(value, null, 2));
};

const nameOf = ({ network, escrowId }: QuarantinedEscrow) => `${network} ${escrowId}`;
const errorOf = ({ error }: QuarantinedEscrow) => `${error.name}: ${error.message}`;

function publicFields({ network, escrowId, error, attempts, retryAt, createdAt }: QuarantinedEscrow) {
  return { network, escrowId, error, attempts, retryAt, createdAt };
}

function describe(escrow: QuarantinedEscrow, now: Date): string {
  const { attempts, createdAt, retryAt } = escrow;
  const next = retryAt <= now ? "due now" : `next at ${retryAt.toISOString()}`;
  const history = `since ${createdAt.toISOString()}, ${attempts} ${attempts === 1 ? "attempt" : "attempts"}, ${next}`;
  return `${nameOf(escrow)}\n  ${history}\n  ${errorOf(escrow)}`;
}

async function list(control: QuarantineControl, { network, asJson }: Command): Promise<number> {
  const escrows = await control.list({ network });
  if (asJson) printJson({ quarantined: escrows.map(publicFields) });
  else if (escrows.length === 0) print("No escrow is in quarantine.");
  else print(escrows.map((escrow) => describe(escrow, new Date())).join("\n"));
  return 0;
}

async function retry(control: QuarantineControl, command: Command): Promise<number> {
  const { network, escrowIds, waitMs, asJson } = command;
  const escrows = await control.list({ network, escrowIds });
  const absent = (escrowIds ?? []).filter((id) => !escrows.some(({ escrowId }) => escrowId === id));
  if (absent.length > 0) {
    const where = network === undefined ? "in quarantine" : `in quarantine on ${network}`;
    throw new CommandError(`Not ${where}, so nothing was retried:\n${absent.map((id) => `  ${id}`).join("\n")}`);
  }
  await control.retry(escrows);
  const giveUpAt = performance.now() + waitMs;
  let outcome = await control.readOutcome(escrows);
  while (outcome.waiting.length > 0 && performance.now() < giveUpAt) {
    await sleep(POLL_MS);
    outcome = await control.readOutcome(escrows);
  }
  const { released, failed, waiting } = outcome;
  if (asJson) {
    printJson({
      released: released.map(({ network, escrowId }) => ({ network, escrowId })),
      failed: failed.map(publicFields),
      waiting: waiting.map(({ network, escrowId }) => ({ network, escrowId })),
    });
  } else {
    if (escrows.length === 0) print("No escrow is in quarantine.");
    for (const escrow of released) print(`${nameOf(escrow)}: released`);
    for (const escrow of failed) print(`${nameOf(escrow)}: stays in quarantine, ${errorOf(escrow)}`);
    for (const escrow of waiting) print(`${nameOf(escrow)}: due now, not retried yet`);
  }
  if (waiting.length > 0 && waitMs > 0) {
    throw new CommandError(
      `${waiting.length} not retried within ${waitMs / MILLISECONDS} s: is a worker running, and does it reach its subgraph?`,
    );
  }
  return failed.length > 0 ? 1 : 0;
}

async function run(command: Command): Promise<number> {
  const log = createLogger({ level: "silent", name: "quarantine" });
  const connection = await connectDatabase(loadDatabaseUri(), log);
  try {
    const control = quarantineOf(connection);
    return await (command.verb === "list" ? list(control, command) : retry(control, command));
  } finally {
    await connection.close();
  }
}

await runCommand({
  help: HELP,
  read: readCommand,
  run,
  expected: [CommandError, ConfigurationError, DatabaseUnusableError],
});
