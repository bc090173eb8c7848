import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { DISPUTE_OUTCOMES } from "../../indexer/schemas.ts";
import type { DisputeOutcome, EscrowEventType } from "../../indexer/schemas.ts";

/** A move of an escrow that was applied to its transaction. */
export interface AppliedEventRecord {
  /** `<network>:<escrow id>:<type>`; an escrow makes each move at most once. */
  _id: string;
  network: Network;
  escrowId: `0x${string}`;
  type: EscrowEventType;
  transactionId: string;
  /** How often a reorganisation withdrew the move after it had been announced. */
  incarnation: number;
  /** False while the move is withdrawn. */
  live: boolean;
  /** Epoch of the cursor in which the move was last read. */
  epoch: number;
  /** `blockNumber * 1000000 + logIndex`: position on the chain. */
  ordinal: number;
  blockNumber: number;
  blockHash: `0x${string}`;
  txHash: `0x${string}`;
  /** Unix seconds of the block. */
  timestamp: number;
  /** Wallets of buyer and seller, lower case. */
  parties: `0x${string}`[];
  /** Further facts about the move for its announcement. */
  proofHash: `0x${string}` | null;
  automatic: boolean | null;
  /** Token units as a decimal string. */
  buyerAmount: string | null;
  outcome: DisputeOutcome | null;
  buyerPercent: number | null;
}

/** A move's position. As long as the chain has the move in the same block, nothing up to that block has changed. */
export interface Anchor {
  ordinal: number;
  blockHash: `0x${string}`;
}

/** How far a network's follower has come. */
export interface CursorRecord {
  _id: Network;
  /** The last move that was read. The next page must continue from it. Null before the first. */
  anchor: Anchor | null;
  /** Highest block up to which everything was read. */
  headNumber: number;
  /** The highest head seen. A subgraph below it is behind, or on a branch that is still shorter. */
  height: number;
  /** Rises with each reorganisation that removed moves. */
  epoch: number;
  /**
   * Set while a reorganisation is being followed: moves above this ordinal are so far missing on the new branch, unless
   * a page of the current epoch had them. Otherwise null.
   */
  forkOrdinal: number | null;
  /** Rises with every write: a follower that has lost its place can't overwrite another's. */
  version: number;
  updatedAt: Date;
}

/** A registered wallet whose agent hasn't been given the earlier moves of its escrows yet. */
export interface NewcomerRecord {
  /** `<network>:<wallet>` */
  _id: string;
  network: Network;
  wallet: `0x${string}`;
  agentId: string;
  /** Ordinal up to which the agent has the moves. */
  after: number;
  /** When the follower continues; in the future after a failure. */
  dueAt: Date;
}

/** An escrow whose moves wait because one of them couldn't be applied. */
export interface QuarantineRecord {
  /** `<network>:<escrow id>` */
  _id: string;
  network: Network;
  escrowId: `0x${string}`;
  /** Name, message and stack of the last failure. */
  error: { name: string; message: string; stack: string | null };
  /** How often applying its moves has failed. */
  attempts: number;
  /** When the follower tries again. `npm run quarantine -- retry` sets it to the past. */
  retryAt: Date;
  createdAt: Date;
}

export type AppliedEventModel = Model<AppliedEventRecord>;
export type CursorModel = Model<CursorRecord>;
export type QuarantineModel = Model<QuarantineRecord>;
export type NewcomerModel = Model<NewcomerRecord>;

/** The id of an escrow's quarantine. */
export const quarantineId = (network: Network, escrowId: string): string => `${network}:${escrowId}`;

/** The collections of the chain follower. */
export interface FollowerModels {
  applied: AppliedEventModel;
  cursors: CursorModel;
  quarantine: QuarantineModel;
  newcomers: NewcomerModel;
}

const required = { required: true } as const;
const text = { type: String, ...required };
const count = { type: Number, ...required };
const date = { type: Date, ...required };
const network = { ...text, enum: NETWORKS };

const appliedSchema = new Schema<AppliedEventRecord>(
  {
    _id: text,
    network,
    escrowId: text,
    type: { type: String, ...required },
    transactionId: text,
    incarnation: count,
    live: { type: Boolean, ...required },
    epoch: count,
    ordinal: count,
    blockNumber: count,
    blockHash: text,
    txHash: text,
    timestamp: count,
    parties: { type: [String], ...required },
    proofHash: { type: String, default: null },
    automatic: { type: Boolean, default: null },
    buyerAmount: { type: String, default: null },
    outcome: { type: String, enum: [...DISPUTE_OUTCOMES, null], default: null },
    buyerPercent: { type: Number, default: null },
  },
  { collection: "chain_moves", versionKey: false, strict: "throw" },
);
appliedSchema.index({ network: 1, live: 1, ordinal: 1 });
// A newly registered wallet gets its moves in chain order.
appliedSchema.index({ network: 1, parties: 1, ordinal: 1 });

const anchorSchema = new Schema<Anchor>({ ordinal: count, blockHash: text }, { _id: false });

const cursorSchema = new Schema<CursorRecord>(
  {
    _id: network,
    anchor: { type: anchorSchema, default: null },
    headNumber: count,
    height: count,
    epoch: count,
    forkOrdinal: { type: Number, default: null },
    version: count,
    updatedAt: date,
  },
  { collection: "chain_cursors", versionKey: false, strict: "throw" },
);

const quarantineSchema = new Schema<QuarantineRecord>(
  {
    _id: text,
    network,
    escrowId: text,
    error: {
      type: new Schema<QuarantineRecord["error"]>(
        { name: text, message: { type: String, default: "" }, stack: { type: String, default: null } },
        { _id: false },
      ),
      ...required,
    },
    attempts: count,
    retryAt: date,
    createdAt: date,
  },
  { collection: "quarantined_escrows", versionKey: false, strict: "throw" },
);
quarantineSchema.index({ network: 1, retryAt: 1 });

const newcomerSchema = new Schema<NewcomerRecord>(
  { _id: text, network, wallet: text, agentId: text, after: count, dueAt: date },
  { collection: "chain_newcomers", versionKey: false, strict: "throw" },
);
newcomerSchema.index({ network: 1, dueAt: 1 });

/** The collections of the chain follower. */
export function followerModels(connection: Connection): FollowerModels {
  return {
    applied: connection.model<AppliedEventRecord>("AppliedEvent", appliedSchema),
    cursors: connection.model<CursorRecord>("Cursor", cursorSchema),
    newcomers: connection.model<NewcomerRecord>("ChainNewcomer", newcomerSchema),
    quarantine: connection.model<QuarantineRecord>("QuarantinedEscrow", quarantineSchema),
  };
}
