import { z } from "zod";

import {
  ApiError,
  ContractRevertedError,
  DealEndedError,
  isTransient,
  RefusedError,
  TransactionRevertedError,
} from "../../sdk/src/index.ts";
import { visibleText } from "./untrusted.ts";

/** Why a tool didn't do what was asked. It is a result, not an exception. */
export interface Refusal {
  isError: true;
  /** For programs, for example `above_max_price`. */
  code: string;
  message: string;
  /** The next step that can help. */
  whatToDo: string;
  /** The deal that the refusal is about. */
  dealId?: string;
  /** Seconds after which a repeat can succeed. */
  retryAfterSeconds?: number;
}

/** Thrown inside a tool to answer with a {@link Refusal}. */
export class ToolRefusal extends Error {
  override readonly name = "ToolRefusal";
  readonly refusal: Refusal;

  constructor(refusal: Omit<Refusal, "isError">) {
    super(refusal.message);
    this.refusal = { isError: true, ...refusal };
  }
}

const MESSAGE_LENGTH = 400;
const REPEAT = "Repeat the call with the same arguments; nothing is done twice under the same intentId.";

const READ_DEAL = "Read the deal with get_deal; it says what is possible now.";

/** What to do about codes of the service. */
const REMEDIES: Readonly<Record<string, string>> = {
  invalid_api_key: "Get a new API key for the wallet; this one is unknown, revoked or expired.",
  not_found: "Check the id. Only the parties of a deal can see it.",
  validation_error: "Correct the named fields and repeat the call.",
  wrong_role: "Call the tool as the other party, or choose a tool of your own side: get_deal says which.",
  service_not_active: "Choose another service with search_services; this one takes no orders now.",
  self_purchase: "Choose a service of another seller.",
  callback_url_required: "Repeat the call with callbackUrl, or choose a service with needsCallback false.",
  insufficient_token_balance: "Put the missing tokens into the wallet, then repeat the call with the same intentId.",
  idempotency_key_reused:
    "Repeat with exactly the earlier arguments, or choose a new intentId for a different purchase.",
  intent_conflict: "Repeat with exactly the earlier arguments. Use a new intentId only for a different purpose.",
  looks_like_a_repeat: "Read the named deal first. Only if you really want a second one, repeat with again: true.",
  mandate_exceeded:
    "Stop, or choose something within the named bound: the wallet's owner has set it, and no repeat lifts it.",
  approval_limit_reached: "Wait until the wallet's owner has decided about what was asked before.",
  scope_not_granted: "Don't repeat the call: the wallet's owner hasn't allowed this key to do it.",
  recipient_not_found: "Check the agent id of the recipient.",
  inbox_full: "Wait until the recipient has read messages.",
  rate_limit_exceeded: REPEAT,
  transaction_not_funded: "Wait until the buyer has funded the deal.",
};

/** The result for anything that a tool throws. It says nothing about the inside of the program. */
export function toRefusal(error: unknown): Refusal {
  if (error instanceof ToolRefusal) return error.refusal;
  if (error instanceof ApiError) return ofService(error);
  if (error instanceof ContractRevertedError) {
    return refusal(
      "contract_refused",
      `The escrow contract refuses the call${error.errorName === undefined ? "" : `: ${error.errorName}`}.`,
      READ_DEAL,
    );
  }
  if (error instanceof TransactionRevertedError) {
    return refusal("contract_refused", "The call was mined, and the contract reverted it.", READ_DEAL);
  }
  if (error instanceof DealEndedError) {
    return refusal("deal_ended", `The deal has ended as ${error.status}.`, "Nothing more can be done with this deal.");
  }
  if (error instanceof RefusedError) {
    return refusal("refused_by_client", bounded(error.message), "Read the deal with get_deal before you try again.");
  }
  if (isTransient(error)) {
    return refusal("outcome_unknown", "No answer came in time. The call may have been carried out.", REPEAT);
  }
  return refusal("unexpected", "Something unexpected went wrong.", REPEAT);
}

function ofService(error: ApiError): Refusal {
  const { status, code, body, retryAfterSeconds } = error;
  const wait = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  if (code === undefined) {
    if (status === 402) {
      const message = "The budget of today is used up, and the call has to be paid for.";
      return refusal("payment_required", message, "Buy a pack of calls, or wait until midnight UTC.");
    }
    const message = `The service gave no readable answer (HTTP status ${status}).`;
    return { ...refusal("service_unreachable", message, REPEAT), ...wait };
  }
  const { error: text } = body as { error?: unknown };
  const message = [typeof text === "string" ? text : code, ...issuesOf(error)].join(": ");
  const fallback = status >= 500 || status === 429 ? REPEAT : "Change what the message names, then repeat the call.";
  const dealId = dealOf(error.details);
  return {
    ...refusal(code, bounded(message), REMEDIES[code] ?? fallback),
    ...(dealId === undefined ? {} : { dealId }),
    ...wait,
  };
}

/** Ids are made by the service and have no other characters. */
const recordId = z.string().regex(/^[a-z0-9_]{1,64}$/);
/** What has been made under an intent, as far as it is one word each. */
const conflictSchema = z.object({
  kind: z.enum(["deal", "listing", "message"]),
  id: recordId,
  differs: z.array(z.string().regex(/^[a-zA-Z]{1,40}$/)),
});

/** The fields and bounds that a validation error names, or what differs from the first request of an intent. */
function issuesOf({ code, details }: ApiError): string[] {
  if (code === "intent_conflict") {
    const { data: first } = conflictSchema.safeParse(details);
    if (first === undefined) return [];
    const how = first.differs.length === 0 ? "" : `, which differs in ${first.differs.join(", ")}`;
    return [`it made the ${first.kind} ${first.id}${how}`];
  }
  if (code !== "validation_error" || !Array.isArray(details)) return [];
  const issues = details as { path?: unknown; message?: unknown }[];
  return [issues.map(({ path, message }) => `${String(path)}: ${String(message)}`).join("; ")];
}

function dealOf(details: unknown): string | undefined {
  const { data: first } = conflictSchema.safeParse(details);
  if (first !== undefined) return first.kind === "deal" ? first.id : undefined;
  return z.object({ transactionId: recordId }).safeParse(details).data?.transactionId;
}

function refusal(code: string, message: string, whatToDo: string): Refusal {
  return { isError: true, code, message, whatToDo };
}

const bounded = (text: string): string => visibleText(text).slice(0, MESSAGE_LENGTH);
