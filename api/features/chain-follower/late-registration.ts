import type { ClientSession, Connection } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { insertPlain } from "../../db/plain-writes.ts";
import type { IndexedEscrow } from "../../indexer/schemas.ts";
import type { EventRecorder } from "../events/recorder.ts";
import { announceMove } from "../transactions/announce.ts";
import type { TransactionModel, TransactionRecord } from "../transactions/model.ts";
import { followerModels } from "./model.ts";
import type { AppliedEventRecord, FollowerModels, NewcomerRecord } from "./model.ts";

/** How many moves a newcomer gets in one transaction. */
export const ADOPTED_MOVES = 200;

/** Id of a newcomer on a network. */
export function newcomerId(network: Network, wallet: string): string {
  return `${network}:${wallet.toLowerCase()}`;
}

/** Records newly registered wallets, in the transaction of the registration. */
export interface Newcomers {
  add(agent: { agentId: string; wallet: string }, session: ClientSession): Promise<void>;
}

/**
 * Registered wallets that haven't been given their earlier moves yet. The follower serves them between its own writes,
 * so each of its writes either ended before that or sees the registration.
 */
export function chainNewcomers(connection: Connection): Newcomers {
  const { newcomers } = followerModels(connection);
  return {
    async add({ agentId, wallet }, session) {
      const records = NETWORKS.map((network): NewcomerRecord => ({
        _id: newcomerId(network, wallet),
        network,
        wallet: wallet.toLowerCase() as `0x${string}`,
        agentId,
        after: -1,
        dueAt: new Date(0),
      }));
      await insertPlain(newcomers, records, session);
    },
  };
}

/** Dependencies of giving newcomers their moves. */
export interface AdoptionOptions {
  transactions: TransactionModel;
  models: FollowerModels;
  recorder: EventRecorder;
  newcomer: NewcomerRecord;
  /** Ordinal of the last move that was read. */
  readTo: number;
}

const NO_TARGETS = { seller: [], buyer: [] };

/** The announcements of a move for a newcomer alone: its log has those that it receives, its audit trail has all. */
function announcementsFor(agentId: string, move: AppliedEventRecord, record: TransactionRecord) {
  const event = { ...move, buyerAmount: move.buyerAmount === null ? null : BigInt(move.buyerAmount) };
  return announceMove(record, event, move.incarnation, NO_TARGETS).map((announcement) => ({
    ...announcement,
    recipients: announcement.recipients.filter((recipient) => recipient === agentId),
    parties: [agentId],
  }));
}

/**
 * Takes newcomers among an escrow's parties back before its first move. They may have passed its moves while those
 * weren't applied. The events that they have already aren't recorded twice.
 */
export async function requeue(
  { newcomers }: Pick<FollowerModels, "newcomers">,
  network: Network,
  { buyer, seller, events }: IndexedEscrow,
  session: ClientSession,
): Promise<void> {
  const after = Math.min(...events.map(({ ordinal }) => Number(ordinal))) - 1;
  await newcomers.updateMany(
    { _id: { $in: [newcomerId(network, buyer), newcomerId(network, seller)] }, after: { $gt: after } },
    { $set: { after } },
    { session },
  );
}

/** Gives a newcomer its next moves; false if there are none left. */
export async function adoptEarlierEscrows(
  { transactions, models, recorder, newcomer, readTo }: AdoptionOptions,
  session: ClientSession,
): Promise<boolean> {
  const { _id, network, wallet, agentId, after } = newcomer;
  const moves = await models.applied
    .find({ network, parties: wallet, ordinal: { $gt: after, $lte: readTo } }, null, { session })
    .sort({ ordinal: 1 })
    .limit(ADOPTED_MOVES)
    .lean();
  const transactionIds = [...new Set(moves.map(({ transactionId }) => transactionId))];
  const found = await transactions.find({ _id: { $in: transactionIds }, unsolicited: true }, null, { session }).lean();
  const records = found.map((record) => ({
    ...record,
    buyerAgentId: record.buyerAddress.toLowerCase() === wallet ? agentId : record.buyerAgentId,
    sellerAgentId: record.sellerAddress.toLowerCase() === wallet ? agentId : record.sellerAgentId,
  }));
  if (records.length > 0) {
    await transactions.bulkWrite(
      records.map((record) => ({
        updateOne: {
          filter: { _id: record._id },
          update: { $set: { buyerAgentId: record.buyerAgentId, sellerAgentId: record.sellerAgentId } },
        },
      })),
      { session },
    );
  }
  const byId = new Map(records.map((record) => [record._id, record]));
  const announcements = moves.flatMap((move) => {
    const record = byId.get(move.transactionId);
    return record === undefined || !move.live ? [] : announcementsFor(agentId, move, record);
  });
  await recorder.record(announcements, session);
  const last = moves.at(-1);
  if (moves.length < ADOPTED_MOVES || last === undefined) {
    await models.newcomers.deleteOne({ _id }, { session });
    return false;
  }
  await models.newcomers.updateOne({ _id }, { $set: { after: last.ordinal } }, { session });
  return true;
}
