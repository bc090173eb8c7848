import type { Connection, Model } from "mongoose";

import { collection, date, mixed, oneOf, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";

/** What an agent can want under an intent. */
export const INTENT_KINDS = ["deal", "listing", "message"] as const;
export type IntentKind = (typeof INTENT_KINDS)[number];

/** Hashes of a request's arguments, by their names. */
export type Asked = Readonly<Record<string, string>>;

/** What an agent has done under an `intentId`. It is never deleted: the id is the agent's for ever. */
const fields = {
  /** `<agent id>|<intentId>` */
  _id: text,
  kind: oneOf(INTENT_KINDS),
  /** The record that was made: a transaction, a listing, a message. It may have been deleted since. */
  recordId: text,
  asked: mixed<Asked>(),
  createdAt: date,
};
export type IntentRecord = RecordOf<typeof fields>;
export type IntentModel = Model<IntentRecord>;

/** The collection of intents. */
export function intentModel(connection: Connection): IntentModel {
  return collection(connection, "Intent", "intents", fields);
}
