import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";

/** A registered agent (specification 2.5, decision 20). */
export interface AgentRecord {
  /** Agent id, `agt_…`. */
  _id: string;
  agentName: string;
  description: string | null;
  /** Checksum form. */
  walletAddress: `0x${string}`;
  /** Lower-case form of the wallet: one wallet is one agent (decision 21). */
  walletKey: string;
  /** Uncompressed secp256k1 key, `0x04…`. */
  publicKey: `0x${string}`;
  /** How many API keys were issued. Each issue writes it, so that two at the same moment cannot both commit unseen. */
  keysIssued: number;
  createdAt: Date;
}

/** An API key, by its hash alone (decision 21). */
export interface ApiKeyRecord {
  /** Key id, `key_…`. */
  _id: string;
  /** SHA-256 of the key. */
  keyHash: string;
  agentId: string;
  walletAddress: `0x${string}`;
  createdAt: Date;
  /** From this moment on the key is invalid; null for a key without an end. */
  expiresAt: Date | null;
}

/** A nonce of a signed message: used once by its wallet. */
export interface SignInNonceRecord {
  /** `<lower-case wallet>:<nonce>`. */
  _id: string;
  /** When the message it stands in can no longer be accepted; the record is dropped after it. */
  expiresAt: Date;
}

/** Copy of what the subgraph says of a wallet on one network; never the authority. */
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
  /** Block of the subgraph that the copy was read at. */
  indexedBlock: number;
  syncedAt: Date;
}

/** A block that the sync of standings has reached. */
export interface Checkpoint {
  number: number;
  hash: `0x${string}`;
}

/** How far the sync of standings is on a network. */
export interface StandingCursorRecord {
  _id: Network;
  /** Blocks up to which every change is copied, the newest first. */
  checkpoints: Checkpoint[];
  /** A reading under way: the head at its beginning, and the last agent copied. Null between two readings. */
  pass: { head: Checkpoint; after: { block: number; id: string } } | null;
  /** Rises with every write: of two processes that read at the same time, one goes on. */
  version: number;
}

/** The collections of agents, their keys and their standing. */
export interface AgentModels {
  agents: Model<AgentRecord>;
  keys: Model<ApiKeyRecord>;
  nonces: Model<SignInNonceRecord>;
  standings: Model<StandingRecord>;
  standingCursors: Model<StandingCursorRecord>;
}

const ENDED_KEYS_KEPT_SECONDS = 30 * 24 * 3_600;

const required = { required: true } as const;
const options = { versionKey: false, strict: "throw" } as const;

/** Declares the collections on a connection. */
export function createAgentModels(connection: Connection): AgentModels {
  const agent = new Schema<AgentRecord>(
    {
      _id: { type: String, ...required },
      agentName: { type: String, ...required },
      description: { type: String, default: null },
      walletAddress: { type: String, ...required },
      walletKey: { type: String, ...required },
      publicKey: { type: String, ...required },
      keysIssued: { type: Number, default: 0 },
      createdAt: { type: Date, ...required },
    },
    { ...options, collection: "agents" },
  );
  agent.index({ walletKey: 1 }, { unique: true });

  const key = new Schema<ApiKeyRecord>(
    {
      _id: { type: String, ...required },
      keyHash: { type: String, ...required },
      agentId: { type: String, ...required },
      walletAddress: { type: String, ...required },
      createdAt: { type: Date, ...required },
      expiresAt: { type: Date, default: null },
    },
    { ...options, collection: "api_keys" },
  );
  key.index({ keyHash: 1 }, { unique: true });
  key.index({ agentId: 1 });
  // Ended keys are kept for a month to tell when they ended; to a caller they are invalid from the first moment on.
  key.index({ expiresAt: 1 }, { expireAfterSeconds: ENDED_KEYS_KEPT_SECONDS });

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
      indexedBlock: { type: Number, ...required },
      syncedAt: { type: Date, ...required },
    },
    { ...options, collection: "standings" },
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
    keys: connection.model<ApiKeyRecord>("ApiKey", key),
    nonces: connection.model<SignInNonceRecord>("SignInNonce", nonce),
    standings: connection.model<StandingRecord>("Standing", standing),
    standingCursors: connection.model<StandingCursorRecord>("StandingCursor", standingCursor),
  };
}
