import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { KYA_LEVELS, NETWORKS } from "../../config/constants.ts";
import type { KyaLevel, Network } from "../../config/constants.ts";

/** A registered agent. */
export interface AgentRecord {
  /** Agent id, `agt_…`. */
  _id: string;
  agentName: string;
  /** The name as the registry compares and sorts it: `nameKeyOf(agentName)`. */
  nameKey: string;
  /** Keys for finding similar names: `nameSkeletons(agentName)`. */
  nameSkeletons: string[];
  description: string | null;
  /** Checksum form. */
  walletAddress: `0x${string}`;
  /** Lower-case form of the wallet: one wallet is one agent. */
  walletKey: string;
  /** Uncompressed secp256k1 key, `0x04…`. */
  publicKey: `0x${string}`;
  /** Know Your Agent level. Only the KYA feature changes it. */
  kyaLevel: KyaLevel;
  /** The highest level that mail or payment method can give; missing unless an admin has lowered the level. */
  kyaCeiling?: KyaLevel;
  /** Copy of the testnet score for the registry's filters, and the subgraph block at which it was read. */
  testnetScore: number;
  testnetScoreBlock: number;
  createdAt: Date;
}

/** A nonce that a wallet has used in a signed message. Each is accepted once. */
export interface SignInNonceRecord {
  /** `<lower-case wallet>:<nonce>`. */
  _id: string;
  /** When its message becomes too old to be accepted. MongoDB deletes the record after that. */
  expiresAt: Date;
}

/** Copy of what the subgraph says about a wallet on one network. It is never the authority. */
export interface StandingRecord {
  /** `<network>:<lower-case wallet>`. */
  _id: string;
  network: Network;
  walletKey: string;
  /** On-chain score. */
  score: number;
  distinctCounterparties: number;
  topCounterpartyCount: number;
  settledCount: number;
  /** Released escrows as seller. */
  released: number;
  /** Escrows that it refunded as seller after the deadline. */
  lateDeclines: number;
  /** Share of its escrows from a checkout that it refunded up to the deadline, as this service's records have it. */
  earlyDeclineShare: number;
  /** Subgraph block at which the copy was read. */
  indexedBlock: number;
  syncedAt: Date;
}

/** A block that the standings sync has reached. */
export interface Checkpoint {
  number: number;
  hash: `0x${string}`;
}

/** How far the standings sync has come on a network. */
export interface StandingCursorRecord {
  _id: Network;
  /** Blocks up to which every change has been copied, newest first. */
  checkpoints: Checkpoint[];
  /** The pass in progress: the head when it started and the last agent copied. Null between passes. */
  pass: { head: Checkpoint; after: { block: number; id: string } } | null;
  /** Rises with every write. If two processes read the same version, only one of them can write the next. */
  version: number;
}

/** The name of the collection of standings, for those who follow its changes. */
export const STANDINGS_COLLECTION = "standings";

/** The collections of agents and their standings. */
export interface AgentModels {
  agents: Model<AgentRecord>;
  nonces: Model<SignInNonceRecord>;
  standings: Model<StandingRecord>;
  standingCursors: Model<StandingCursorRecord>;
}

const required = { required: true } as const;
const options = { versionKey: false, strict: "throw" } as const;

/** Declares the collections on a connection. */
export function createAgentModels(connection: Connection): AgentModels {
  const agent = new Schema<AgentRecord>(
    {
      _id: { type: String, ...required },
      agentName: { type: String, ...required },
      nameKey: { type: String, ...required },
      nameSkeletons: { type: [String], ...required },
      description: { type: String, default: null },
      walletAddress: { type: String, ...required },
      walletKey: { type: String, ...required },
      publicKey: { type: String, ...required },
      kyaLevel: { type: Number, enum: KYA_LEVELS, ...required },
      kyaCeiling: { type: Number, enum: KYA_LEVELS },
      testnetScore: { type: Number, default: 0 },
      testnetScoreBlock: { type: Number, default: -1 },
      createdAt: { type: Date, ...required },
    },
    { ...options, collection: "agents" },
  );
  agent.index({ walletKey: 1 }, { unique: true });
  // One for each order of the registry. The level comes first: a query gives it one value or all of them, and MongoDB
  // merges the ranges in order. The score at the end of the second serves a filter by name and score.
  agent.index({ kyaLevel: 1, _id: -1 });
  agent.index({ kyaLevel: 1, nameKey: 1, _id: 1, testnetScore: 1 });
  agent.index({ kyaLevel: 1, testnetScore: -1, _id: -1 });
  // Ids rise with time: the oldest agents of a skeleton come first.
  agent.index({ nameSkeletons: 1, _id: 1 });

  const nonce = new Schema<SignInNonceRecord>(
    { _id: { type: String, ...required }, expiresAt: { type: Date, ...required } },
    { ...options, collection: "sign_in_nonces" },
  );
  nonce.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });

  const standing = new Schema<StandingRecord>(
    {
      _id: { type: String, ...required },
      network: { type: String, enum: NETWORKS, ...required },
      walletKey: { type: String, ...required },
      score: { type: Number, ...required },
      distinctCounterparties: { type: Number, ...required },
      topCounterpartyCount: { type: Number, ...required },
      settledCount: { type: Number, ...required },
      released: { type: Number, ...required },
      lateDeclines: { type: Number, ...required },
      earlyDeclineShare: { type: Number, ...required },
      indexedBlock: { type: Number, ...required },
      syncedAt: { type: Date, ...required },
    },
    { ...options, collection: STANDINGS_COLLECTION },
  );

  const checkpoint = new Schema<Checkpoint>(
    { number: { type: Number, ...required }, hash: { type: String, ...required } },
    { _id: false },
  );
  const place = new Schema({ block: { type: Number, ...required }, id: { type: String, ...required } }, { _id: false });
  const pass = new Schema<NonNullable<StandingCursorRecord["pass"]>>(
    { head: { type: checkpoint, ...required }, after: { type: place, ...required } },
    { _id: false },
  );
  const standingCursor = new Schema<StandingCursorRecord>(
    {
      _id: { type: String, enum: NETWORKS, ...required },
      checkpoints: { type: [checkpoint], ...required },
      pass: { type: pass, default: null },
      version: { type: Number, ...required },
    },
    { ...options, collection: "standing_cursors" },
  );

  return {
    agents: connection.model<AgentRecord>("Agent", agent),
    nonces: connection.model<SignInNonceRecord>("SignInNonce", nonce),
    standings: connection.model<StandingRecord>("Standing", standing),
    standingCursors: connection.model<StandingCursorRecord>("StandingCursor", standingCursor),
  };
}
