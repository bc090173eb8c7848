import { Schema } from "mongoose";
import type { Connection, Model, Types } from "mongoose";

import { SENDING_PROBLEMS } from "../../chain/sending/problems.ts";
import { addSendingIndexes, sendingFields } from "../../chain/sending/record.ts";
import type { SendingModel, SendingRecord } from "../../chain/sending/record.ts";
import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";

/** The calls of the escrow contract that are open to anyone and end something. */
export const KEEPER_MOVES = ["finalize", "resolveExpired", "retryScore"] as const;
export type KeeperMove = (typeof KEEPER_MOVES)[number];

/** Reasons why a move can't be made. docs/operating/sending.md says what an operator does about each. */
export const KEEPER_PROBLEMS = [
  /** The dispute window, or the time for a ruling, isn't over at the latest block. */
  "too_early",
  /** The chain doesn't have the escrow in the state that the move starts from: a reorganisation removed it. */
  "not_in_state",
  /** The score contract fails again. */
  "score_fails",
  /** The day's transactions have cost, or may cost, all that they are allowed to. */
  "spending_cap",
  ...SENDING_PROBLEMS,
] as const;
export type KeeperProblem = (typeof KEEPER_PROBLEMS)[number];

/** The reserved cost of transactions, counted on a UTC day of the chain's time. */
export interface Charge {
  /** `2026-11-23` */
  day: string;
  /** Decimal number of wei. */
  wei: string;
}

/** A move that the keeper makes once, with its transactions. The id is `network:move:escrowId`. */
export interface KeeperOrderRecord extends SendingRecord {
  move: KeeperMove;
  escrowId: `0x${string}`;
  /** The reservation for the transactions in flight. */
  charge?: Charge;
  /** The cost of its mined transactions, as a decimal number of wei. */
  spentWei?: string;
}

/** The cost of a network's transactions of one day, including reservations for those in flight. The id is `network:day`. */
export interface KeeperSpendingRecord {
  _id: string;
  committedWei: Types.Decimal128;
}

/** How far a network's blocks have been searched for failed score updates. */
export interface KeeperCursorRecord {
  _id: Network;
  nextBlock: number;
}

/** The collections of the keeper. */
export interface KeeperModels {
  orders: SendingModel<KeeperOrderRecord>;
  spending: Model<KeeperSpendingRecord>;
  cursors: Model<KeeperCursorRecord>;
}

const required = { required: true } as const;
const text = { type: String, ...required } as const;

const orderSchema = new Schema<KeeperOrderRecord>(
  {
    ...sendingFields(KEEPER_PROBLEMS),
    move: { ...text, enum: KEEPER_MOVES },
    escrowId: text,
    charge: { type: new Schema<Charge>({ day: text, wei: text }, { _id: false }) },
    spentWei: String,
  },
  { collection: "keeper_orders", versionKey: false, strict: "throw" },
);
addSendingIndexes(orderSchema);

const spendingSchema = new Schema<KeeperSpendingRecord>(
  { _id: text, committedWei: { type: Schema.Types.Decimal128, ...required } },
  { collection: "keeper_spending", versionKey: false, strict: "throw" },
);

const cursorSchema = new Schema<KeeperCursorRecord>(
  { _id: { ...text, enum: NETWORKS }, nextBlock: { type: Number, ...required } },
  { collection: "keeper_cursors", versionKey: false, strict: "throw" },
);

/** Declares the collections of the keeper. */
export function keeperModels(connection: Connection): KeeperModels {
  return {
    orders: connection.model<KeeperOrderRecord>("KeeperOrder", orderSchema),
    spending: connection.model<KeeperSpendingRecord>("KeeperSpending", spendingSchema),
    cursors: connection.model<KeeperCursorRecord>("KeeperCursor", cursorSchema),
  };
}

/** The name of a move in the log and its id. */
export function orderId(network: Network, move: KeeperMove, escrowId: string): string {
  return `${network}:${move}:${escrowId.toLowerCase()}`;
}
