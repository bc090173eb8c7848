import { HttpRequestError } from "viem";

import { ArgumentError } from "../../sdk/src/index.ts";
import { toRefusal } from "../../tools/src/index.ts";
import type { Refusal } from "../../tools/src/index.ts";
import { EXIT } from "./exit-codes.ts";
import type { ExitCode } from "./exit-codes.ts";
import { WalletError } from "./wallet/wallet-error.ts";

/** Why a command didn't do what was asked, and how it ends. */
export interface FailureParts {
  exitCode: ExitCode;
  /** For programs, for example `above_max_price`. */
  code: string;
  message: string;
  /** The next step that can help, with the command to try. */
  whatToDo: string;
  dealId?: string | undefined;
  retryAfterSeconds?: number | undefined;
}

/** Ends a command. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  readonly parts: FailureParts;

  constructor(parts: FailureParts) {
    super(parts.message);
    this.parts = parts;
  }
}

/** A mistake on the command line or in a file that it names. Nothing was done. */
export function usageFailure(message: string, whatToDo: string): CommandFailure {
  return new CommandFailure({ exitCode: EXIT.usage, code: "usage", message, whatToDo });
}

/** What a refusal is about, where it isn't an ordinary failure. */
const EXIT_OF: Readonly<Record<string, ExitCode>> = {
  invalid_input: EXIT.usage,
  validation_error: EXIT.usage,
  above_max_price: EXIT.refusedByLimit,
  not_confirmed: EXIT.usage,
  limit_exceeded: EXIT.refusedByLimit,
  confirmation_required: EXIT.refusedByLimit,
  ledger_broken: EXIT.refusedByLimit,
  limits_broken: EXIT.refusedByLimit,
  mandate_exceeded: EXIT.refusedByLimit,
  approval_required: EXIT.refusedByLimit,
  payment_required: EXIT.refusedByLimit,
  api_key_required: EXIT.notSignedIn,
  invalid_api_key: EXIT.notSignedIn,
  inactive_api_key: EXIT.notSignedIn,
  wallet_missing: EXIT.notSignedIn,
  outcome_unknown: EXIT.outcomeUnknown,
  request_in_progress: EXIT.outcomeUnknown,
  service_unreachable: EXIT.outcomeUnknown,
  unexpected: EXIT.outcomeUnknown,
};

/**
 * The failure of a refused tool. A command that only reads has no outcome that could be unknown.
 * @param writes whether a repeat has to have the same intent
 */
export function failureOfRefusal(refusal: Refusal, { writes }: { writes: boolean }): CommandFailure {
  const { code, message, whatToDo, dealId, retryAfterSeconds } = refusal;
  const exitCode = EXIT_OF[code] ?? EXIT.failed;
  if (exitCode === EXIT.outcomeUnknown && !writes) return unreadable(refusal);
  return new CommandFailure({ exitCode, code, message, whatToDo: inCommands(whatToDo), dealId, retryAfterSeconds });
}

/** The failure of a command that only reads: nothing can have been carried out. */
function unreadable({ code, message, retryAfterSeconds }: Refusal): CommandFailure {
  return new CommandFailure({
    exitCode: EXIT.failed,
    code,
    message: code === "outcome_unknown" ? "No answer came." : message,
    whatToDo: "Try again. `agent-marketplace doctor` says whether the marketplace can be reached.",
    retryAfterSeconds,
  });
}

/** Addresses may hold a key of the provider, so only the host is shown. */
function rpcUnreachable({ url }: HttpRequestError): CommandFailure {
  return new CommandFailure({
    exitCode: EXIT.failed,
    code: "rpc_unreachable",
    message: `The RPC server ${URL.parse(url)?.host ?? ""} doesn't answer.`,
    whatToDo: "Name another one: `agent-marketplace init --rpc NETWORK=URL`, once for each network.",
  });
}

/** The failure for whatever a command threw. It says nothing about the inside of the program. */
export function failureOf(error: unknown, how: { writes: boolean }): CommandFailure {
  if (error instanceof CommandFailure) return error;
  if (error instanceof WalletError) {
    const { code, message, whatToDo } = error;
    return new CommandFailure({ exitCode: EXIT_OF[code] ?? EXIT.failed, code, message, whatToDo });
  }
  if (error instanceof HttpRequestError && !how.writes) return rpcUnreachable(error);
  if (error instanceof ArgumentError) return usageFailure(error.message, "Correct it and run the command again.");
  return failureOfRefusal(toRefusal(error), how);
}

/** Tools and the commands that call them. */
const COMMAND_OF: Readonly<Record<string, string>> = {
  search_services: "search",
  get_service: "show",
  list_deals: "deals",
  get_deal: "deal",
  review_delivery: "review",
  my_jobs: "jobs",
  send_message: "messages send",
  read_messages: "messages",
};

/** What a tool says to do, with commands in place of tools and options in place of arguments. */
function inCommands(text: string): string {
  return text
    .replaceAll(/\b[a-z]+_[a-z]+\b/g, (name) => {
      const command = COMMAND_OF[name];
      return command === undefined ? name : `\`agent-marketplace ${command}\``;
    })
    .replaceAll("maxPrice", "--max")
    .replaceAll("callbackUrl", "--callback-url")
    .replaceAll("again: true", "--again")
    .replaceAll("intentId", "--intent")
    .replaceAll(
      "Register a wallet with POST /api/v1/auth/register and send the answer's apiKey",
      "Run `agent-marketplace init`",
    )
    .replaceAll("the call", "the command");
}
