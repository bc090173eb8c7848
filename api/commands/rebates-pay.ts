// Pays the rebates of a month. The production image has it as `node api/commands/rebates-pay.ts`.
import { hostname } from "node:os";
import process from "node:process";

import { formatUnits } from "viem";

import { ChainUnavailableError } from "../chain/errors.ts";
import { SENDING_CONFIRMATIONS } from "../config/constants.ts";
import { ConfigurationError, loadRebateSettings } from "../config/env.ts";
import { connectDatabase, createIndexes, DatabaseUnusableError } from "../db/connection.ts";
import { isMonth, PayingStoppedError, rebatePayments } from "../features/fees/module.ts";
import type { ListedRebate, RebatePayments } from "../features/fees/module.ts";
import { createLogger } from "../lib/logger.ts";
import { print, readArguments, runCommand, UsageError } from "./usage.ts";

const HELP = `usage: npm run rebates:pay -- [--month YYYY-MM] [--dry-run] [--confirmations N] [--json]

Pays the rebates of a finished month to the sellers on base, each statement once. A run that was killed is continued by the
next one: every transfer is stored before it is sent.
  --month YYYY-MM     the month; its statements must be written, which the worker does after its end
  --dry-run           print what would be paid and what the paying wallet holds; send nothing
  --confirmations N   blocks that must follow a transfer before its statement counts as paid, 1 to 1000 (default ${SENDING_CONFIRMATIONS})
  --json              print one JSON object
  --help              this text

REBATE_PAYER_KEY_BASE is the key of the paying wallet, which must hold the tokens and ether for gas. MONGODB_URI and
RPC_URL_BASE are read as by the API; by default all three are those of the running local marketplace.
Exit codes: 0 everything is paid, or listed; 1 something isn't, with the reason; 2 wrong arguments.`;

const MAX_CONFIRMATIONS = 1_000;

/** Something an operator has to know: printed without a stack trace. */
class CommandError extends Error {}

interface Command {
  month: string;
  isDryRun: boolean;
  confirmations: number;
  asJson: boolean;
}

/** Reads the arguments; undefined when they ask for help. @throws UsageError */
function readCommand(args: string[]): Command | undefined {
  const { values } = readArguments({
    args,
    options: {
      month: { type: "string" },
      "dry-run": { type: "boolean", default: false },
      confirmations: { type: "string", default: String(SENDING_CONFIRMATIONS) },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return undefined;
  if (values.month === undefined) throw new UsageError("--month is needed, for example --month 2026-10.");
  if (!isMonth(values.month)) throw new UsageError(`--month must be a month such as 2026-10, not "${values.month}".`);
  const confirmations = /^\d+$/.test(values.confirmations) ? Number(values.confirmations) : Number.NaN;
  if (!(confirmations >= 1 && confirmations <= MAX_CONFIRMATIONS)) {
    throw new UsageError(
      `--confirmations must be a whole number from 1 to ${MAX_CONFIRMATIONS}, not "${values.confirmations}".`,
    );
  }
  return { month: values.month, isDryRun: values["dry-run"], confirmations, asJson: values.json };
}

const amountOf = ({ rebate, token }: ListedRebate) => `${formatUnits(rebate, token.decimals)} ${token.symbol}`;
const STATES = { due: "to pay", sending: "sent, not final", paid: "paid" } as const;

function tableOf(rows: readonly string[][]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** A table of the month's rebates. */
function describe(rebates: readonly ListedRebate[]): string {
  if (rebates.length === 0) return "No statement of this month has a rebate.";
  const rows = rebates.map((rebate) => [
    ...[rebate.wallet, rebate.tier, amountOf(rebate), STATES[rebate.state]],
    rebate.txHash ?? rebate.problem ?? "",
  ]);
  return tableOf([["wallet", "tier", "rebate", "state", "transaction or problem"], ...rows]);
}

/** The balances that the wallet needs, one per line. @throws CommandError if something is missing and `isRequired` */
async function balances(payments: RebatePayments, month: string, payerKey: `0x${string}`, isRequired: boolean) {
  const { payer, needs } = await payments.needs(month, payerKey);
  const lines = needs.map(
    ({ name, decimals, required, balance }) =>
      `${name}: ${formatUnits(balance, decimals)} held, ${formatUnits(required, decimals)} needed`,
  );
  if (isRequired && needs.some(({ required, balance }) => balance < required)) {
    throw new CommandError(`The paying wallet ${payer} doesn't hold enough, so nothing was sent:\n${lines.join("\n")}`);
  }
  return [`The paying wallet is ${payer}.`, ...lines];
}

async function pay(payments: RebatePayments, { month, asJson }: Command, key: `0x${string}`): Promise<number> {
  await payments.takeTurn();
  try {
    await balances(payments, month, key, true);
    await payments.pay(month, key);
  } finally {
    await payments.release().catch(() => undefined);
  }
  const rebates = await payments.list(month);
  if (asJson) print(JSON.stringify({ month, rebates }, bigintAsText, 2));
  else print(describe(rebates));
  const unpaid = rebates.filter(({ state }) => state !== "paid");
  if (unpaid.length > 0) throw new CommandError(`${unpaid.length} of ${rebates.length} couldn't be paid.`);
  return 0;
}

async function run(command: Command): Promise<number> {
  const { mongodbUri, rpcUrl, payerKey } = loadRebateSettings();
  const { month, isDryRun, confirmations, asJson } = command;
  const log = createLogger({ level: "silent", name: "rebates-pay" });
  const connection = await connectDatabase(mongodbUri, log);
  try {
    const payments = rebatePayments(connection, {
      rpcUrl,
      log,
      now: () => new Date(),
      processId: `${hostname()}:${process.pid}`,
      confirmations,
    });
    // A unique index is what keeps two runs from using one nonce.
    await createIndexes(connection);
    if (!(await payments.isWritten(month))) {
      throw new CommandError(
        `The statements of ${month} aren't written. The worker writes them once the month has ended on the chain.`,
      );
    }
    if (!isDryRun) {
      if (payerKey === undefined) throw new CommandError("REBATE_PAYER_KEY_BASE is missing: it pays the rebates.");
      return await pay(payments, command, payerKey);
    }
    const rebates = await payments.list(month);
    const lines = payerKey === undefined ? [] : await balances(payments, month, payerKey, false);
    if (asJson) print(JSON.stringify({ month, rebates }, bigintAsText, 2));
    else print([describe(rebates), ...lines, "Nothing was sent."].join("\n"));
    return 0;
  } finally {
    await connection.close();
  }
}

function bigintAsText(_name: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

await runCommand({
  help: HELP,
  read: readCommand,
  run,
  expected: [ChainUnavailableError, CommandError, ConfigurationError, DatabaseUnusableError, PayingStoppedError],
});
