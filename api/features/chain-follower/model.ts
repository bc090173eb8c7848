import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import type { EscrowEventType } from "../../indexer/schemas.ts";

/** A chain event that was applied to a transaction: what an overlap of the next reading is compared with. */
export interface AppliedEventRecord {
  /** `<network>:<escrow id>:<type>`; an escrow makes each move at most once. */
  _id: string;
  network: Network;
  escrowId: `0x${string}`;
  type: EscrowEventType;
  transactionId: string;
  /** How often the move was withdrawn by a reorganisation after it had been announced. */
  incarnation: number;
  /** True for a move of an escrow that took the id of a checkout and concerns no agent: nobody was told of it. */
  silent: boolean;
  /** False while the move is withdrawn. */
  live: boolean;
  blockNumber: number;
  blockHash: `0x${string}`;
  txHash: `0x${string}`;
  /** Unix seconds of the block. */
  timestamp: number;
}

/** How far the follower of a network is. */
export interface CursorRecord {
  _id: Network;
  /** Ordinal after the last applied event, as decimal string. */
  nextOrdinal: string;
  /** Highest block up to which everything was read. */
  headNumber: number;
  /** Rises with every write: a follower that has lost its place cannot write over another's. */
  version: number;
  updatedAt: Date;
}

export type AppliedEventModel = Model<AppliedEventRecord>;
export type CursorModel = Model<CursorRecord>;

/** The collections of the chain follower. */
export interface FollowerModels {
  applied: AppliedEventModel;
  cursors: CursorModel;
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
    silent: { type: Boolean, default: false },
    live: { type: Boolean, ...required },
    blockNumber: count,
    blockHash: text,
    txHash: text,
    timestamp: count,
  },
  { collection: "applied_events", versionKey: false, strict: "throw" },
);
appliedSchema.index({ network: 1, live: 1, blockNumber: 1 });

const cursorSchema = new Schema<CursorRecord>(
  { _id: network, nextOrdinal: text, headNumber: count, version: count, updatedAt: date },
  { collection: "cursors", versionKey: false, strict: "throw" },
);

/** The collections of the chain follower. */
export function followerModels(connection: Connection): FollowerModels {
  return {
    applied: connection.model<AppliedEventRecord>("AppliedEvent", appliedSchema),
    cursors: connection.model<CursorRecord>("Cursor", cursorSchema),
  };
}
