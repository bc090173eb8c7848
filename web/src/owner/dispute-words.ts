import type { Dispute, Ruling, SettlementOffer, Transaction } from "../../../sdk/src/generated/api-types.ts";
import type { Answer } from "../data/answers.ts";
import type { StateWords } from "../words/states.ts";
import { codeOf } from "./api.ts";
import { apiFaults } from "./listing-words.ts";
import { refusalWords } from "./sign-in-words.ts";

export type Side = "buyer" | "seller";

/** The bounds of the API. A test compares them with its own. */
export const EVIDENCE_BOUNDS = { text: 5_000, items: 20, attachments: 10, url: 2_048 } as const;

/** What an item of evidence is. */
export const EVIDENCE_TYPES: Readonly<Record<Dispute["evidence"][number]["type"], string>> = {
  delivery_proof: "What was delivered",
  specification: "What was agreed",
  communication: "What was said",
  screenshot: "A picture of a screen",
  other: "Something else",
};

/** The states of a dispute. */
export const DISPUTE_STATES: Readonly<Record<Dispute["status"], StateWords>> = {
  open: { name: "Open", meaning: "Both parties may show evidence.", tone: "care" },
  ruling: { name: "Being judged", meaning: "The evidence is closed.", tone: "active" },
  ruled: { name: "Ruled", meaning: "The ruling is on its way to the chain.", tone: "active" },
  resolved: { name: "Ended", meaning: "The chain has paid both shares.", tone: "plain" },
  withdrawn: { name: "Withdrawn", meaning: "A reorganisation of the chain has removed the dispute.", tone: "plain" },
};

/** What a party writes, as a form has it. */
export interface EvidenceFields {
  type: string;
  text: string;
  /** An address a line. */
  attachments: string;
  /** Whether nothing more comes from the party. */
  isLast: boolean;
}

export const NO_EVIDENCE: EvidenceFields = { type: "other", text: "", attachments: "", isLast: false };

const COUNT = new Intl.NumberFormat("en-US");

/** What the API takes in a field. */
export const EVIDENCE_HINTS = {
  type: "What it shows",
  text: `1 to ${COUNT.format(EVIDENCE_BOUNDS.text)} characters`,
  attachments:
    `Up to ${EVIDENCE_BOUNDS.attachments} addresses with https://, one a line. The service keeps the addresses, ` +
    "not what is there",
} as const;
export type EvidenceField = keyof typeof EVIDENCE_HINTS;
export type Faults = Readonly<Partial<Record<EvidenceField, string>>>;

/** What is wrong with a form; empty if the API takes it as far as a page can know. */
export function evidenceFaults(fields: EvidenceFields): Faults {
  const { length } = Array.from(fields.text.trim());
  const over = length - EVIDENCE_BOUNDS.text;
  const text =
    length === 0
      ? "Write something."
      : over > 0
        ? `${COUNT.format(length)} characters: ${COUNT.format(over)} too many.`
        : undefined;
  const attachments = attachmentFault(addressesIn(fields));
  return { ...(text === undefined ? {} : { text }), ...(attachments === undefined ? {} : { attachments }) };
}

function attachmentFault(addresses: readonly string[]): string | undefined {
  const most = EVIDENCE_BOUNDS.attachments;
  if (addresses.length > most) return `${addresses.length} addresses: ${addresses.length - most} too many.`;
  if (addresses.some(({ length }) => length > EVIDENCE_BOUNDS.url)) {
    return `At most ${COUNT.format(EVIDENCE_BOUNDS.url)} characters an address.`;
  }
  const isFit = addresses.every((address) => /^https:\/\/[^/]/i.test(address) && URL.canParse(address));
  return isFit ? undefined : "Each an address with https://.";
}

function addressesIn({ attachments }: EvidenceFields): string[] {
  return attachments
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** An item of evidence as the API takes it. */
export function evidenceBody(fields: EvidenceFields): Record<string, unknown> {
  const { type, text, isLast } = fields;
  const item = { type, description: text.trim(), attachments: addressesIn(fields) };
  return isLast ? { ...item, complete: true } : item;
}

const FIELDS: Readonly<Record<string, EvidenceField>> = {
  reason: "text",
  description: "text",
  type: "type",
  attachments: "attachments",
};

/** What the API found wrong, by the form's fields. */
export function refusedFields(answer: Answer): Faults {
  const found = Object.entries(apiFaults(answer)).flatMap(([path, message]) => {
    const field = FIELDS[path.split(/[.[]/)[0] ?? ""];
    return field === undefined ? [] : [[field, `${message}.`] as const];
  });
  return Object.fromEntries(found);
}

/** Why the service didn't take what a party said, or its offer. */
export function disputeRefusal(answer: Answer): string {
  if (answer.status === 0)
    return "The service doesn't answer, so this may have worked. Try again: it isn't done twice.";
  const { details } = (answer.body ?? {}) as { details?: { limit?: unknown; submitted?: unknown } };
  switch (codeOf(answer)) {
    case "dispute_reason_given":
      return "You have said what is wrong already. Add it as evidence.";
    case "evidence_closed":
      return "Your evidence is closed: its time is over, the ruling has begun, or you have marked it complete.";
    case "evidence_limit_reached":
      return `You have submitted ${Number(details?.submitted)} items of evidence, and ${Number(details?.limit)} are the most.`;
    case "dispute_not_open_on_chain":
      return "On chain, the deal isn't disputed any more.";
    case "signature_invalid":
      return "The contract wouldn't take this signature: it isn't the account's own.";
    case "scope_not_granted":
      return "This session only sees. Sign in with “See and act”.";
    default:
      return refusalWords(answer, "");
  }
}

/** The buyer's share in a text; undefined for anything but a whole number from 0 to 100. */
export function percentIn(text: string): number | undefined {
  return /^(100|[1-9]?\d)$/.test(text.trim()) ? Number(text) : undefined;
}

const ALL = 100n;

/** What each party gets: as the contract divides, the buyer's part is rounded down. */
export function sharesOf({ lockedAmount }: Pick<Transaction, "lockedAmount">, percent: number): Record<Side, bigint> {
  const locked = BigInt(lockedAmount);
  const buyer = (locked * BigInt(percent)) / ALL;
  return { buyer, seller: locked - buyer };
}

/** The terms that both parties have signed; undefined unless they are the same and still hold. */
export function agreedTerms({ settlement }: Dispute): Record<Side, SettlementOffer> | undefined {
  const { buyer, seller } = settlement.offers;
  if (buyer?.status !== "open" || seller?.status !== "open") return undefined;
  const isSame = buyer.buyerPercent === seller.buyerPercent && buyer.deadline === seller.deadline;
  return isSame ? { buyer, seller } : undefined;
}

/** How long an offer may hold, in seconds. */
export const OFFER_TIMES: readonly (readonly [seconds: number, name: string])[] = [
  [3_600, "an hour"],
  [86_400, "a day"],
  [259_200, "three days"],
];

/** A fact or a check, and how it stands. */
export interface Finding {
  name: string;
  result: string;
  detail: string;
}

/** What a page shows of a ruling's document. */
export interface ShownRuling {
  facts: readonly Finding[];
  checks: readonly Finding[];
  reasons: readonly string[];
  ruledBy: string;
  /** ISO 8601. */
  ruledAt: string | undefined;
}

/** Reads a ruling's document, of whatever version. */
export function shownRuling({ document }: Ruling): ShownRuling {
  const { facts, checks, reasons, ruledBy, ruledAt } = document;
  return {
    facts: findingsIn(facts, "name"),
    checks: findingsIn(checks, "text"),
    reasons: Array.isArray(reasons) ? reasons.filter((reason) => typeof reason === "string") : [],
    ruledBy: typeof ruledBy === "string" ? ruledBy : "",
    ruledAt: typeof ruledAt === "string" && !Number.isNaN(Date.parse(ruledAt)) ? ruledAt : undefined,
  };
}

function findingsIn(list: unknown, nameField: "name" | "text"): Finding[] {
  if (!Array.isArray(list)) return [];
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  return (list as unknown[]).map((entry) => {
    const { [nameField]: name, result, detail } = (entry ?? {}) as Record<string, unknown>;
    return { name: text(name), result: text(result), detail: text(detail) };
  });
}
