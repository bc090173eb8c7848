import type { Connection, Model } from "mongoose";

import { SENDING_PROBLEMS } from "../../chain/sending/problems.ts";
import { sendingFields, sendingIndexes } from "../../chain/sending/record.ts";
import type { Network } from "../../config/constants.ts";
import { collection, decimal, oneOf, optional, part, text, textOf } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";

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
const chargeFields = {
  /** `2026-11-23` */
  day: text,
  /** Decimal number of wei. */
  wei: text,
};

const orderFields = {
  ...sendingFields(KEEPER_PROBLEMS),
  move: oneOf(KEEPER_MOVES),
  escrowId: textOf<`0x${string}`>(),
  /** The reservation for the transactions in flight. */
  charge: optional(part(chargeFields)),
  /** The cost of its mined transactions, as a decimal number of wei. */
  spentWei: optional(text),
};

/** A move that the keeper makes once, with its transactions. The id is `network:move:escrowId`. */
export type KeeperOrderRecord = RecordOf<typeof orderFields>;

const spendingFields = { _id: text, committedWei: decimal };

/** The cost of a network's transactions of one day, including reservations for those in flight. The id is `network:day`. */
export type KeeperSpendingRecord = RecordOf<typeof spendingFields>;

/** The collections of the keeper. */
export interface KeeperModels {
  orders: Model<KeeperOrderRecord>;
  spending: Model<KeeperSpendingRecord>;
}

/** Declares the collections of the keeper. */
export function keeperModels(connection: Connection): KeeperModels {
  return {
    orders: collection(connection, "KeeperOrder", "keeper_orders", orderFields, sendingIndexes()),
    spending: collection(connection, "KeeperSpending", "keeper_spending", spendingFields),
  };
}

/** The name of a move in the log and its id. */
export function orderId(network: Network, move: KeeperMove, escrowId: string): string {
  return `${network}:${move}:${escrowId.toLowerCase()}`;
}
