import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import {
  collection,
  date,
  flag,
  listOf,
  nullable,
  number,
  oneOf,
  optional,
  part,
  text,
  textOf,
} from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";
import { SCOPES } from "../../http/scopes.ts";

/** What a mandate says of a checkout above its amounts: it is refused, or the wallet may approve it. */
export const ON_EXCEEDED = ["refuse", "approval"] as const;

/** What a key may spend and on what, as its agent's wallet has signed it. Amounts are 10⁻⁶ US dollars as decimal strings. */
const termsFields = {
  perDealUsd: text,
  /** By UTC day. */
  perDayUsd: text,
  totalUsd: text,
  /** Slugs of categories. Each of these lists bounds nothing if it is empty. */
  categories: listOf(text),
  /** Wallets, lower case. */
  sellers: listOf(textOf<`0x${string}`>()),
  networks: listOf(oneOf(NETWORKS)),
  requireCriteria: flag,
  scopes: listOf(oneOf(SCOPES)),
  notAfter: date,
  /** What becomes of a checkout above the amounts. Missing: it is refused. */
  onExceeded: optional(oneOf(ON_EXCEEDED)),
};
export type MandateTerms = RecordOf<typeof termsFields>;

/** A key's mandate and all that was counted against it, in one document, so that every process sees the same remainder. */
const mandateFields = {
  /** Id of the key. */
  _id: text,
  agentId: text,
  terms: part(termsFields),
  /** Counted since the mandate was signed: what is reserved and what was paid. */
  spentUsd: text,
  /** Midnight UTC of the day that `spentTodayUsd` counts. It never goes back. */
  day: date,
  spentTodayUsd: text,
  /** When a deal was funded after its amount had been released: nothing new is bought under the mandate. */
  closedAt: nullable(date),
  /** When the key was revoked. */
  endedAt: nullable(date),
  /** How many approvals were asked for. Each one writes it, so that of two at the same time one sees the other. */
  approvalsAsked: optional(number),
  createdAt: date,
};
export type MandateRecord = RecordOf<typeof mandateFields>;
export type MandateModel = Model<MandateRecord>;

/** The collection of mandates. */
export function mandateModel(connection: Connection): MandateModel {
  return collection(connection, "Mandate", "mandates", mandateFields, [[{ agentId: 1 }]]);
}

/** What a deal or a payment counts against a mandate; stored with it. */
export const countFields = {
  /** Id of the mandate, which is that of the key. */
  id: text,
  /** 10⁻⁶ US dollars as a decimal string. */
  usd: text,
  /** Midnight UTC of the day that it counts for. */
  day: date,
  /** False once it has been released. */
  counted: flag,
};
export type MandateCount = RecordOf<typeof countFields>;
