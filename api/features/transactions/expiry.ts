import type { ClientSession, Connection } from "mongoose";

import type { Network } from "../../config/constants.ts";
import { withTransaction } from "../../db/connection.ts";
import type { MandateLedger } from "../mandates/ledger.ts";
import type { TransactionModel, TransactionRecord } from "./model.ts";

/** Seconds after its quote's end, by the indexed chain's time, before an unfunded checkout expires. */
export const EXPIRY_MARGIN_SECONDS = 120;

/** Checkouts of a network whose quote ended so long ago that they expire. */
const endedQuotes = (network: Network, headTimestamp: number) =>
  ({
    network,
    status: "pending_funding",
    quoteExpiresAt: { $lt: headTimestamp - EXPIRY_MARGIN_SECONDS },
  }) as const;

const expired = (now: Date) => ({ status: "expired", expiredBy: "quote", updatedAt: now }) as const;

/**
 * Expires a network's checkouts whose quote has ended without an escrow on chain. If the escrow is funded later anyway,
 * its transaction becomes `funded` with `late: true`. Checkouts that count against a mandate are left to
 * {@link expireCounted}.
 * @param headTimestamp unix seconds of the block up to which every event has been applied
 * @returns the number of expired checkouts
 */
export async function expireQuotes(
  transactions: TransactionModel,
  network: Network,
  headTimestamp: number,
  now: Date,
): Promise<number> {
  const result = await transactions.updateMany(
    { ...endedQuotes(network, headTimestamp), "mandate.counted": { $ne: true } },
    { $set: expired(now) },
  );
  return result.modifiedCount;
}

/** How many counted checkouts are read at once. */
const BATCH = 100;

/**
 * The same for checkouts that count against a mandate. The transaction that expires one also releases its amount, so a killed
 * process can neither skip that nor repeat it.
 */
export async function expireCounted(
  {
    connection,
    transactions,
    ledger,
  }: { connection: Connection; transactions: TransactionModel; ledger: MandateLedger },
  network: Network,
  headTimestamp: number,
  now: Date,
): Promise<void> {
  const due = { ...endedQuotes(network, headTimestamp), "mandate.counted": true };
  for (;;) {
    const found = await transactions.find(due, { mandate: 1 }).limit(BATCH).lean();
    for (const { _id, mandate } of found) {
      await withTransaction(connection, async (session) => {
        const change = { $set: { ...expired(now), "mandate.counted": false } };
        const { modifiedCount } = await transactions.updateOne({ ...due, _id }, change, { session });
        if (modifiedCount === 1 && mandate !== undefined) await ledger.release(mandate, session);
      });
    }
    if (found.length < BATCH) return;
  }
}

/**
 * Keeps mandates in step with the states of deals, in the transaction that writes these: an expired deal counts nothing, and
 * one that is funded after all counts again and closes its mandate.
 */
export async function followMandates(
  { transactions, ledger, now }: { transactions: TransactionModel; ledger: MandateLedger; now: Date },
  records: readonly TransactionRecord[],
  session: ClientSession,
): Promise<void> {
  for (const { _id, mandate, status, escrow } of records) {
    const counts = status !== "expired";
    if (mandate === undefined || mandate.counted === counts) continue;
    if (!counts) await ledger.release(mandate, session);
    const changed = counts
      ? await ledger.recount(mandate, { closes: escrow !== null, now }, session)
      : { ...mandate, counted: false };
    await transactions.updateOne({ _id }, { $set: { mandate: changed } }, { session });
  }
}
