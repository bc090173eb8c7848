import type { Decision, Moderation, Service } from "../../../sdk/src/generated/api-types.ts";
import type { Answer } from "../data/answers.ts";
import type { StateWords } from "../words/states.ts";
import { codeOf } from "./api.ts";
import { refusalWords } from "./sign-in-words.ts";

/** What a seller writes about a listing, as a form has it. */
export interface ListingFields {
  title: string;
  description: string;
  /** A slug; empty while none is chosen. */
  category: string;
  /** A decimal number. */
  price: string;
  priceUnit: string;
  currency: string;
  deliveryType: string;
  network: string;
  /** Empty for none. */
  endpointUrl: string;
  callbackRequired: boolean;
}

/** A form's field with a text. */
export type TextField = Exclude<keyof ListingFields, "callbackRequired">;

/** A new listing. It asks no buyer for a callback: with one, fewer can buy it. */
export const NEW_LISTING: ListingFields = {
  title: "",
  description: "",
  category: "",
  price: "",
  priceUnit: "per_request",
  currency: "USDC",
  deliveryType: "webhook",
  network: "base-sepolia",
  endpointUrl: "",
  callbackRequired: false,
};

/** The bounds of the API. A test compares them with its own. */
export const BOUNDS = {
  title: 100,
  description: 2_000,
  price: 1_000_000_000,
  priceDigits: 15,
  endpointUrl: 2_048,
} as const;
/** The most decimals of a price, by currency. */
export const DECIMALS: Readonly<Record<string, number>> = { USDC: 6, USD: 6, ETH: 18, POL: 18 };
export const PRICE_UNITS = ["per_request", "per_document", "per_hour", "per_output", "flat"] as const;
/** How a buyer gets what it has bought. */
export const DELIVERY_TYPES: Readonly<Record<string, string>> = {
  webhook: "by webhook",
  api_response: "in the answer of the API",
  async: "later, to be fetched",
};

const COUNT = new Intl.NumberFormat("en-US");

/** What the API takes in a field. */
export const HINTS: Readonly<Record<TextField, string>> = {
  title: `1 to ${BOUNDS.title} characters, on one line`,
  description: `1 to ${COUNT.format(BOUNDS.description)} characters. Search reads them, so say what a buyer gets`,
  category: "One of the categories",
  price:
    `More than 0, at most ${COUNT.format(BOUNDS.price)}, with up to ${BOUNDS.priceDigits} digits: ` +
    "6 decimals in USDC and USD, 18 in ETH and POL",
  priceUnit: "What the price is for",
  currency: "USDC and USD settle in USDC, ETH in WETH. No escrow holds POL yet",
  deliveryType: "How a buyer gets the result",
  network: "Where the money moves",
  endpointUrl: `Where the service posts new jobs: http or https, up to ${COUNT.format(BOUNDS.endpointUrl)} characters, or empty`,
};

/** What is wrong with a field; undefined if the API takes it as far as a page can know. */
function faultOf(name: TextField, fields: ListingFields): string | undefined {
  const value = fields[name].trim();
  const { length } = Array.from(value);
  switch (name) {
    case "title":
    case "description":
      if (length === 0) return "Write something.";
      return length > BOUNDS[name]
        ? `${COUNT.format(length)} characters: ${COUNT.format(length - BOUNDS[name])} too many.`
        : undefined;
    case "category":
      return value === "" ? "Choose one." : undefined;
    case "price":
      return priceFault(value, fields.currency);
    case "endpointUrl":
      if (value === "") return undefined;
      if (length > BOUNDS.endpointUrl) return `At most ${COUNT.format(BOUNDS.endpointUrl)} characters.`;
      return /^https?:\/\/[^/]/i.test(value) && URL.canParse(value)
        ? undefined
        : "An address with http:// or https://.";
    default:
      return undefined;
  }
}

function priceFault(text: string, currency: string): string | undefined {
  const [, whole = "", fraction = ""] = /^(\d{1,10})(?:\.(\d+))?$/.exec(text) ?? [];
  if (whole === "") return "A number such as 2.5.";
  const value = Number(text);
  if (value <= 0) return "More than 0.";
  if (value > BOUNDS.price) return `At most ${COUNT.format(BOUNDS.price)}.`;
  const decimals = DECIMALS[currency] ?? 0;
  const written = fraction.replace(/0+$/, "");
  if (written.length > decimals) return `At most ${decimals} decimals in ${currency}.`;
  const digits = (whole + written).replace(/^0+/, "");
  return digits.length > BOUNDS.priceDigits ? `At most ${BOUNDS.priceDigits} digits.` : undefined;
}

const TEXT_FIELDS = Object.keys(HINTS) as TextField[];

/** Everything that is wrong with a form, by field. */
export function faultsOf(fields: ListingFields): Readonly<Partial<Record<string, string>>> {
  const found = TEXT_FIELDS.flatMap((name) => {
    const fault = faultOf(name, fields);
    return fault === undefined ? [] : [[name, fault] as const];
  });
  return Object.fromEntries(found);
}

/** A form as the API takes it. */
export function bodyOf(fields: ListingFields): Record<string, unknown> {
  const endpointUrl = fields.endpointUrl.trim();
  return {
    ...fields,
    title: fields.title.trim(),
    description: fields.description.trim(),
    price: Number(fields.price.trim()),
    endpointUrl: endpointUrl === "" ? null : endpointUrl,
  };
}

/** The form of a listing that is there. */
export function fieldsOf(listing: Service): ListingFields {
  const { title, description, category, price, priceUnit, currency, deliveryType, network } = listing;
  return {
    title,
    description,
    category,
    priceUnit,
    currency,
    deliveryType,
    network,
    price: price.toLocaleString("en-US", { useGrouping: false, maximumFractionDigits: 18 }),
    endpointUrl: listing.endpointUrl ?? "",
    callbackRequired: listing.callbackRequired,
  };
}

/** What of a form differs from what is there, as the API takes a change. */
export function changesOf(before: ListingFields, after: ListingFields): Record<string, unknown> {
  const [old, body] = [bodyOf(before), bodyOf(after)];
  return Object.fromEntries(Object.entries(body).filter(([name, value]) => value !== old[name]));
}

/** What the API found wrong with the fields of a body, by field. */
export function apiFaults({ body }: Answer): Readonly<Record<string, string>> {
  const { details } = (body ?? {}) as { details?: unknown };
  const issues = Array.isArray(details) ? (details as { path?: unknown; message?: unknown }[]) : [];
  return Object.fromEntries(
    issues.flatMap(({ path, message }) =>
      typeof path === "string" && path.startsWith("body.") && typeof message === "string"
        ? [[path.slice("body.".length), message] as const]
        : [],
    ),
  );
}

/** Why the service didn't write a listing or an appeal. */
export function listingRefusal(answer: Answer): string {
  if (answer.status === 0)
    return "The service doesn't answer, so this may have worked. Try again: it isn't done twice.";
  switch (codeOf(answer)) {
    case "not_found":
      return "It isn't there any more.";
    case "service_archived":
      return "The listing is archived. It can't be changed any more.";
    case "scope_not_granted":
      return "This session only sees. Sign in with “See and act”.";
    case "already_appealed":
      return "You have appealed against this decision already: each has one appeal.";
    case "decision_not_in_force":
      return "The decision has ended meanwhile.";
    default:
      return refusalWords(answer, "");
  }
}

/** The states of a listing. */
export const LISTING_STATES: Readonly<Record<Service["status"], StateWords>> = {
  active: { name: "Active", meaning: "Buyers find it and can order.", tone: "good" },
  paused: { name: "Paused", meaning: "Buyers can't order, and search doesn't show it.", tone: "care" },
  archived: { name: "Archived", meaning: "It is closed for good.", tone: "plain" },
};

/** What the operator decided. */
export const DECISION_STATES: Readonly<Record<Decision["state"], StateWords>> = {
  hidden: { name: "Hidden", meaning: "Nobody else finds it, and nobody can order it.", tone: "bad" },
  suspended: { name: "Suspended", meaning: "Your agent's listings are hidden, and it can't check out.", tone: "bad" },
  restored: { name: "Restored", meaning: "The decision has ended.", tone: "good" },
};

const REASONS: Readonly<Record<Moderation["reason"], string>> = {
  fraud: "fraud",
  illegal: "something illegal",
  harmful: "something harmful",
  infringement: "rights of others",
  spam: "spam",
  other: "another reason",
};

/** What a decision is because of. */
export function reasonWords(reason: Moderation["reason"]): string {
  return REASONS[reason];
}

const RESTORED: Readonly<Record<NonNullable<Decision["restored"]>["reason"], string>> = {
  mistake: "it was a mistake",
  appeal: "of your appeal",
  remedied: "you have mended it",
};

/** Why a decision has ended. */
export function restoredWords(reason: NonNullable<Decision["restored"]>["reason"]): string {
  return RESTORED[reason];
}

/** The most characters of an appeal. A test compares it with the API's. */
export const APPEAL_LENGTH = 1_000;
