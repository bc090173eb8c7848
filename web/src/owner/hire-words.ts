import type { Answer, ListingDetails } from "../data/answers.ts";
import { count } from "../words/amounts.ts";
import { paymentMethodOf } from "../words/hiring.ts";
import { codeOf } from "./api.ts";
import { refusalWords } from "./sign-in-words.ts";

/** An order as its form has it. */
export interface OrderFields {
  /** What the seller gets: an object of JSON, or a text. */
  payload: string;
  quantity: string;
  /** Sentences about the result, one on each line. */
  checks: string;
  callbackUrl: string;
  /** Seconds. */
  disputeWindow: string;
  /** Seconds. */
  deliveryDeadline: string;
}

/** A form that nobody has filled in: the times are those of a checkout without them. */
export const NEW_ORDER: OrderFields = {
  payload: "",
  quantity: "1",
  checks: "",
  callbackUrl: "",
  disputeWindow: "300",
  deliveryDeadline: "604800",
};

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;
/** Times to look at a delivery that the form offers, in seconds. */
export const DISPUTE_WINDOWS: readonly number[] = [5 * MINUTE, HOUR, DAY];
/** Times to deliver that the form offers, in seconds. */
export const DELIVERY_DEADLINES: readonly number[] = [30 * MINUTE, 6 * HOUR, DAY, 7 * DAY, 30 * DAY];

/** The bounds of the API. A test compares them with its own. */
export const ORDER_BOUNDS = { quantity: 1_000_000, checks: 50, checkLength: 500, callbackUrl: 2_048 } as const;

/** What the API takes in a field. */
export const ORDER_HINTS: Readonly<Record<keyof OrderFields, string>> = {
  payload:
    'What the seller needs to know: an object of JSON, or a text, which is sent as {"text": …}. It may stay empty',
  quantity: `How many of the unit: a whole number from 1 to ${count(ORDER_BOUNDS.quantity)}`,
  checks:
    `What must hold for the result, a sentence on each line: up to ${ORDER_BOUNDS.checks} of up to ${ORDER_BOUNDS.checkLength} characters. ` +
    "In a dispute, the judge reads them. It may stay empty",
  callbackUrl: "Where the seller sends the result: http or https",
  disputeWindow: "How long you can look at a delivery before it is paid",
  deliveryDeadline: "How long the seller has, counted from now. Later, you can take the deposit back",
};

/** Everything that is wrong with an order, by field. */
export function orderFaults(fields: OrderFields, listing: ListingDetails): Readonly<Partial<Record<string, string>>> {
  const faults: Readonly<Record<string, string | undefined>> = {
    payload: payloadFault(fields.payload),
    quantity: quantityFault(fields.quantity.trim()),
    checks: checksFault(checksIn(fields.checks)),
    callbackUrl: listing.callbackRequired ? addressFault(fields.callbackUrl.trim()) : undefined,
  };
  return Object.fromEntries(Object.entries(faults).filter(([, fault]) => fault !== undefined));
}

function payloadFault(text: string): string | undefined {
  try {
    payloadOf(text);
    return undefined;
  } catch (error) {
    return `This begins like JSON and isn't any: ${error instanceof Error ? error.message.replace(/\.$/, "") : "?"}.`;
  }
}

function quantityFault(text: string): string | undefined {
  return /^\d{1,7}$/.test(text) && Number(text) >= 1 && Number(text) <= ORDER_BOUNDS.quantity
    ? undefined
    : `A whole number from 1 to ${count(ORDER_BOUNDS.quantity)}.`;
}

function checksFault(checks: readonly string[]): string | undefined {
  if (checks.length > ORDER_BOUNDS.checks) {
    return `${count(checks.length)} lines: ${count(checks.length - ORDER_BOUNDS.checks)} too many.`;
  }
  const long = checks.findIndex(({ length }) => length > ORDER_BOUNDS.checkLength);
  return long === -1 ? undefined : `Sentence ${long + 1} has ${count(checks[long]?.length ?? 0)} characters.`;
}

function addressFault(text: string): string | undefined {
  if (text.length > ORDER_BOUNDS.callbackUrl) return `At most ${count(ORDER_BOUNDS.callbackUrl)} characters.`;
  return /^https?:\/\/[^/]/i.test(text) && URL.canParse(text) ? undefined : "An address with http:// or https://.";
}

/** The payload that a text stands for; undefined for none. @throws SyntaxError for what begins like an object and isn't one */
function payloadOf(text: string): Record<string, unknown> | undefined {
  const given = text.trim();
  if (given === "") return undefined;
  return given.startsWith("{") ? (JSON.parse(given) as Record<string, unknown>) : { text: given };
}

function checksIn(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** An order without faults, as a checkout takes it. */
export function orderBody(fields: OrderFields, listing: ListingDetails): Record<string, unknown> {
  const requestPayload = payloadOf(fields.payload);
  const checks = checksIn(fields.checks);
  return {
    serviceId: listing.serviceId,
    paymentMethod: paymentMethodOf(listing.currency),
    network: listing.network,
    quantity: Number(fields.quantity.trim()),
    disputeWindow: Number(fields.disputeWindow),
    deliveryDeadlineSeconds: Number(fields.deliveryDeadline),
    ...(requestPayload === undefined ? {} : { requestPayload }),
    ...(checks.length === 0 ? {} : { criteria: { checks } }),
    ...(listing.callbackRequired ? { callbackUrl: fields.callbackUrl.trim() } : {}),
  };
}

/** The names of an order's fields in the API, by those of the form, where they differ. */
const FORM_NAMES: Readonly<Record<string, string>> = {
  requestPayload: "payload",
  criteria: "checks",
  deliveryDeadlineSeconds: "deliveryDeadline",
};

/** The field of the form that a fault of the API is about. @param path in the body, such as `criteria.checks.0` */
export function formName(path: string): string {
  const [first = ""] = path.split(".");
  return FORM_NAMES[first] ?? first;
}

/** Why the service didn't take an order. */
export function orderRefusal(answer: Answer): string {
  if (answer.status === 0) {
    return "The service doesn't answer, so the order may be there. Try again: it isn't made twice.";
  }
  switch (codeOf(answer)) {
    case "not_found":
    case "listing_hidden":
    case "service_not_active":
      return "The listing can't be ordered any more.";
    case "self_purchase":
      return "This is your own agent's listing.";
    case "scope_not_granted":
      return "This session only sees. Sign in with “See and act”.";
    case "insufficient_token_balance":
      return "Your wallet holds less than the deposit. Nothing was ordered. Send it some, then try again.";
    case "seller_terms_not_met":
      return "The seller takes no order on these terms: it takes none at the moment, or wants more time or a larger deposit.";
    default:
      return refusalWords(answer, "");
  }
}
