import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import {
  collection,
  date,
  flag,
  listOf,
  nullable,
  number,
  oneOf,
  part,
  text,
  textOf,
  withDefault,
} from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";
import { DISPUTE_OUTCOMES } from "../../indexer/schemas.ts";
import type { EscrowEventType } from "../../indexer/schemas.ts";

const hex = textOf<`0x${string}`>();

/** A move of an escrow that was applied to its transaction. */
const appliedFields = {
  /** `<network>:<escrow id>:<type>`; an escrow makes each move at most once. */
  _id: text,
  network: oneOf(NETWORKS),
  escrowId: hex,
  type: textOf<EscrowEventType>(),
  transactionId: text,
  /** How often a reorganisation withdrew the move after it had been announced. */
  incarnation: number,
  /** False while the move is withdrawn. */
  live: flag,
  /** Epoch of the cursor in which the move was last read. */
  epoch: number,
  /** `blockNumber * 1000000 + logIndex`: position on the chain. */
  ordinal: number,
  blockNumber: number,
  blockHash: hex,
  txHash: hex,
  /** Unix seconds of the block. */
  timestamp: number,
  /** Wallets of buyer and seller, lower case. */
  parties: listOf(hex),
  /** Further facts about the move for its announcement. */
  proofHash: nullable(hex),
  automatic: nullable(flag),
  /** Token units as a decimal string. */
  buyerAmount: nullable(text),
  outcome: nullable(oneOf(DISPUTE_OUTCOMES)),
  buyerPercent: nullable(number),
};

/** A move's position. As long as the chain has the move in the same block, nothing up to that block has changed. */
const anchorFields = { ordinal: number, blockHash: hex };

/** How far a network's follower has come. */
const cursorFields = {
  _id: oneOf(NETWORKS),
  /** The last move that was read. The next page must continue from it. Null before the first. */
  anchor: nullable(part(anchorFields)),
  /** Highest block up to which everything was read. */
  headNumber: number,
  /** The highest head seen. A subgraph below it is behind, or on a branch that is still shorter. */
  height: number,
  /** Rises with each reorganisation that removed moves. */
  epoch: number,
  /**
   * Set while a reorganisation is being followed: moves above this ordinal are so far missing on the new branch, unless
   * a page of the current epoch had them. Otherwise null.
   */
  forkOrdinal: nullable(number),
  /** Rises with every write: a follower that has lost its place can't overwrite another's. */
  version: number,
  updatedAt: date,
};

/** A registered wallet whose agent hasn't been given the earlier moves of its escrows yet. */
const newcomerFields = {
  /** `<network>:<wallet>` */
  _id: text,
  network: oneOf(NETWORKS),
  wallet: hex,
  agentId: text,
  /** Ordinal up to which the agent has the moves. */
  after: number,
  /** When the follower continues; in the future after a failure. */
  dueAt: date,
};

/** An escrow whose moves wait because one of them couldn't be applied. */
const quarantineFields = {
  /** `<network>:<escrow id>` */
  _id: text,
  network: oneOf(NETWORKS),
  escrowId: hex,
  /** Name, message and stack of the last failure. */
  error: part({ name: text, message: withDefault(text, ""), stack: nullable(text) }),
  /** How often applying its moves has failed. */
  attempts: number,
  /** When the follower tries again. `npm run quarantine -- retry` sets it to the past. */
  retryAt: date,
  createdAt: date,
};

export type AppliedEventRecord = RecordOf<typeof appliedFields>;
export type Anchor = RecordOf<typeof anchorFields>;
export type CursorRecord = RecordOf<typeof cursorFields>;
export type NewcomerRecord = RecordOf<typeof newcomerFields>;
export type QuarantineRecord = RecordOf<typeof quarantineFields>;
export type AppliedEventModel = Model<AppliedEventRecord>;

/** An escrow makes each kind of move at most once, so this names a move in any block. */
export function moveId(network: Network, move: { escrowId: string; type: EscrowEventType }): string {
  return `${network}:${move.escrowId}:${move.type}`;
}

/** The id of an escrow's quarantine. */
export const quarantineId = (network: Network, escrowId: string): string => `${network}:${escrowId}`;

/** The collections of the chain follower. */
export interface FollowerModels {
  applied: AppliedEventModel;
  cursors: Model<CursorRecord>;
  quarantine: Model<QuarantineRecord>;
  newcomers: Model<NewcomerRecord>;
}

/** The collections of the chain follower. */
export function followerModels(connection: Connection): FollowerModels {
  return {
    applied: collection(connection, "AppliedEvent", "chain_moves", appliedFields, [
      [{ network: 1, live: 1, ordinal: 1 }],
      // A newly registered wallet gets its moves in chain order.
      [{ network: 1, parties: 1, ordinal: 1 }],
    ]),
    cursors: collection(connection, "Cursor", "chain_cursors", cursorFields),
    newcomers: collection(connection, "ChainNewcomer", "chain_newcomers", newcomerFields, [[{ network: 1, dueAt: 1 }]]),
    quarantine: collection(connection, "QuarantinedEscrow", "quarantined_escrows", quarantineFields, [
      [{ network: 1, retryAt: 1 }],
    ]),
  };
}
