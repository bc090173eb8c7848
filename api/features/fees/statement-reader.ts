import { MAINNET } from "../../config/constants.ts";
import { ApiError } from "../../http/errors.ts";
import type { StatementLineRecord, StatementModels, StatementRecord } from "./model.ts";
import type { PaymentModel, PaymentRecord } from "./payment-model.ts";

/** A statement with its payment; undefined before a payment was tried. */
export interface StatementWithPayment {
  statement: StatementRecord;
  payment: PaymentRecord | undefined;
}

/** The last statement of a page: lists are ordered by month and id, newest first. */
export interface StatementPlace {
  month: string;
  id: string;
}

/** Reads the statements of a wallet. */
export interface StatementReader {
  list(
    wallet: `0x${string}`,
    page: { limit: number; cursor?: StatementPlace | undefined },
  ): Promise<{ statements: StatementWithPayment[]; next: StatementPlace | null }>;
  /** Settlements that a statement lists, in its order. @throws ApiError `not_found`, also for another wallet's */
  lines(
    wallet: `0x${string}`,
    statementId: string,
    page: { limit: number; cursor?: number | undefined },
  ): Promise<{ lines: StatementLineRecord[]; next: number | null }>;
}

/** The statements stored in collections. */
export function createStatementReader({ statements, lines }: StatementModels, payments: PaymentModel): StatementReader {
  return {
    async list(wallet, { limit, cursor }) {
      const found = await statements
        .find({
          wallet: lowerCase(wallet),
          network: MAINNET,
          ...(cursor === undefined
            ? {}
            : {
                // The first condition is redundant, but it bounds the index range.
                month: { $lte: cursor.month },
                $or: [{ month: { $lt: cursor.month } }, { month: cursor.month, _id: { $lt: cursor.id } }],
              }),
        })
        .sort({ month: -1, _id: -1 })
        .limit(limit + 1)
        .lean();
      const page = found.slice(0, limit);
      const last = page.at(-1);
      const known = await payments.find({ _id: { $in: page.map(({ _id }) => _id) } }).lean();
      const byId = new Map(known.map((payment) => [payment._id, payment]));
      const hasMore = found.length > limit && last !== undefined;
      return {
        statements: page.map((statement) => ({ statement, payment: byId.get(statement._id) })),
        next: hasMore ? { month: last.month, id: last._id } : null,
      };
    },

    async lines(wallet, statementId, { limit, cursor = -1 }) {
      const isOwn = await statements.exists({ _id: statementId, wallet: lowerCase(wallet) });
      if (isOwn === null) throw new ApiError("not_found", { details: { statementId } });
      const found = await lines
        .find({ statementId, position: { $gt: cursor } })
        .sort({ position: 1 })
        .limit(limit + 1)
        .lean();
      const page = found.slice(0, limit);
      const hasMore = found.length > limit;
      return { lines: page, next: hasMore ? (page.at(-1)?.position ?? null) : null };
    },
  };
}

const lowerCase = (wallet: `0x${string}`) => wallet.toLowerCase() as `0x${string}`;
