import type { Connection } from "mongoose";

import type { Network } from "../../config/constants.ts";
import { readPage } from "../../db/pages.ts";
import { followerModels } from "./model.ts";
import type { QuarantineRecord } from "./model.ts";
import { AT_ONCE } from "./quarantine.ts";

/** Selects quarantined escrows; without any field, all of them. */
export interface QuarantineSelection {
  network?: Network | undefined;
  escrowIds?: readonly `0x${string}`[] | undefined;
}

/** The result for the escrows that an operator asked to retry. */
export interface RetryOutcome {
  /** Applied: no longer in quarantine. */
  released: QuarantineRecord[];
  /** Tried, and failed again; with the new error. */
  failed: QuarantineRecord[];
  /** Not tried yet: the follower hasn't got to them, or no worker runs. */
  waiting: QuarantineRecord[];
}

/** Some quarantined escrows. */
export interface QuarantinePage {
  records: QuarantineRecord[];
  next: string | null;
}

/** An operator's control over quarantined escrows. A worker's follower does the retrying. */
export interface QuarantineControl {
  /** The selected escrows, oldest first. */
  list(selection: QuarantineSelection): Promise<QuarantineRecord[]>;
  /** A page of them by id, and the id of its last one if there are more. */
  page(options: { after: string | undefined; limit: number }): Promise<QuarantinePage>;
  /** Makes an escrow due now. Null if it isn't in quarantine. */
  retryNow(id: string): Promise<QuarantineRecord | null>;
  /** Makes these escrows due now. */
  retry(escrows: readonly QuarantineRecord[]): Promise<void>;
  /** The result for these escrows since `retry`. */
  readOutcome(escrows: readonly QuarantineRecord[]): Promise<RetryOutcome>;
}

/** The quarantine stored in a database. */
export function quarantineControl(connection: Connection): QuarantineControl {
  const { quarantine } = followerModels(connection);
  const idsOf = (escrows: readonly QuarantineRecord[]) => escrows.map(({ _id }) => _id);
  return {
    list({ network, escrowIds }) {
      const filter = {
        ...(network === undefined ? {} : { network }),
        ...(escrowIds === undefined ? {} : { escrowId: { $in: [...escrowIds] } }),
      };
      return quarantine.find(filter).sort({ createdAt: 1, _id: 1 }).lean();
    },

    page({ after, limit }) {
      const filter = after === undefined ? {} : { _id: { $gt: after } };
      return readPage(quarantine, filter, { sort: { _id: 1 }, limit, hint: { _id: 1 } });
    },

    retryNow(id) {
      const change = { $set: { retryAt: AT_ONCE } };
      return quarantine.findOneAndUpdate({ _id: id }, change, { returnDocument: "after" }).lean();
    },

    async retry(escrows) {
      await quarantine.updateMany({ _id: { $in: idsOf(escrows) } }, { $set: { retryAt: AT_ONCE } });
    },

    async readOutcome(escrows) {
      const left = await quarantine.find({ _id: { $in: idsOf(escrows) } }).lean();
      const leftIds = new Set(idsOf(left));
      // A failed attempt sets the time of the next one.
      const isTried = ({ retryAt }: QuarantineRecord) => retryAt.getTime() !== AT_ONCE.getTime();
      return {
        released: escrows.filter(({ _id }) => !leftIds.has(_id)),
        failed: left.filter(isTried),
        waiting: left.filter((record) => !isTried(record)),
      };
    },
  };
}
