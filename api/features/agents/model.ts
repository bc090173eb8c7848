import type { Connection, Model } from "mongoose";

import { KYA_LEVELS, NETWORKS } from "../../config/constants.ts";
import {
  collection,
  date,
  listOf,
  nullable,
  number,
  oneOf,
  optional,
  text,
  textOf,
  withDefault,
} from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";
import { moderationPart } from "./moderation.ts";

/** A registered agent. */
const agentFields = {
  /** Agent id, `agt_…`. */
  _id: text,
  agentName: text,
  /** The name as the registry compares and sorts it: `nameKeyOf(agentName)`. */
  nameKey: text,
  /** Keys for finding similar names: `nameSkeletons(agentName)`. */
  nameSkeletons: listOf(text),
  description: nullable(text),
  /** Checksum form. */
  walletAddress: textOf<`0x${string}`>(),
  /** Lower-case form of the wallet: one wallet is one agent. */
  walletKey: text,
  /** Uncompressed secp256k1 key, `0x04…`. */
  publicKey: textOf<`0x${string}`>(),
  /** Know Your Agent level. Only the KYA feature changes it. */
  kyaLevel: oneOf(KYA_LEVELS),
  /** The highest level that mail or payment method can give; missing unless an admin has lowered the level. */
  kyaCeiling: optional(oneOf(KYA_LEVELS)),
  /** Copy of the testnet score for the registry's filters, and the subgraph block at which it was read. */
  testnetScore: withDefault(number, 0),
  testnetScoreBlock: withDefault(number, -1),
  /** The operator's decision that keeps the agent from new deals; missing unless it is suspended. */
  moderation: optional(moderationPart),
  createdAt: date,
};
export type AgentRecord = RecordOf<typeof agentFields>;

/** A nonce that a wallet has signed. Each is accepted once in messages of its kind. */
const nonceFields = {
  /** `<lower-case wallet>:<nonce>` of a sign-in message; others begin with their kind. */
  _id: text,
  /** When what it was signed in becomes too old to be accepted. MongoDB deletes the record after that. */
  expiresAt: date,
};
export type NonceRecord = RecordOf<typeof nonceFields>;

/** Copy of what the subgraph says about a wallet on one network. It is never the authority. */
const standingFields = {
  /** `<network>:<lower-case wallet>`. */
  _id: text,
  network: oneOf(NETWORKS),
  walletKey: text,
  /** On-chain score. */
  score: number,
  distinctCounterparties: number,
  topCounterpartyCount: number,
  settledCount: number,
  /** Released escrows as seller. */
  released: number,
  /** Escrows that it refunded as seller after the deadline. */
  lateDeclines: number,
  /** Share of its escrows from a checkout that it refunded up to the deadline, as this service's records have it. */
  earlyDeclineShare: number,
  /** `rankingTrustOf` all of this, for lists in that order. */
  trust: number,
  /** Subgraph block at which the copy was read. */
  indexedBlock: number,
  syncedAt: date,
};
export type StandingRecord = RecordOf<typeof standingFields>;

/** The name of the collection of standings, for those who follow its changes. */
export const STANDINGS_COLLECTION = "standings";

/** The collections of agents and their standings. */
export interface AgentModels {
  agents: Model<AgentRecord>;
  nonces: Model<NonceRecord>;
  standings: Model<StandingRecord>;
}

/** Declares the collections on a connection. */
export function createAgentModels(connection: Connection): AgentModels {
  return {
    agents: collection(connection, "Agent", "agents", agentFields, [
      [{ walletKey: 1 }, { unique: true }],
      // One for each order of the registry. The level comes first: a query gives it one value or all of them, and MongoDB
      // merges the ranges in order. The score at the end of the second serves a filter by name and score.
      [{ kyaLevel: 1, _id: -1 }],
      [{ kyaLevel: 1, nameKey: 1, _id: 1, testnetScore: 1 }],
      [{ kyaLevel: 1, testnetScore: -1, _id: -1 }],
      // Ids rise with time: the oldest agents of a skeleton come first.
      [{ nameSkeletons: 1, _id: 1 }],
    ]),
    nonces: collection(connection, "SignedNonce", "signed_nonces", nonceFields, [
      [{ expiresAt: 1 }, { expireAfterSeconds: 0 }],
    ]),
    standings: collection(connection, "Standing", STANDINGS_COLLECTION, standingFields, [
      // For the most trusted wallets: few have any trust.
      [{ trust: -1, _id: 1 }, { partialFilterExpression: { trust: { $gt: 0 } } }],
    ]),
  };
}
