import { formatUnits } from "viem";
import type { QueryFilter } from "mongoose";
import type { z } from "zod";

import { NETWORKS, USD_DECIMALS } from "../../config/constants.ts";
import { encodeCursor } from "../../http/query-params.ts";
import { isoTime, toUnixSeconds } from "../../lib/clock.ts";
import type { DisputeModel, DisputeRecord } from "../disputes/model.ts";
import { hashRationale } from "../disputes/ruling-document.ts";
import { disputeIdOf } from "../transactions/dispute-id.ts";
import { RESOLVED_INDEX } from "../transactions/model.ts";
import type { TransactionModel, TransactionRecord } from "../transactions/model.ts";
import { LEAST_DISPUTES, MOST_DISPUTES, STATISTICS_DAYS } from "./dispute-schemas.ts";
import type { DisputePosition, disputesAnswer, DisputesQuery, DOCUMENT_STATES } from "./dispute-schemas.ts";

type DisputesAnswer = z.input<typeof disputesAnswer>;
type DocumentState = (typeof DOCUMENT_STATES)[number];

/** Dependencies of the public disputes. */
export interface PublicDisputesDeps {
  transactions: TransactionModel;
  disputes: DisputeModel;
  now: () => Date;
}

/** The fields of a resolved deal that are shown: what the chain has, and the id under which its ruling is kept. */
const FIELDS = { network: 1, escrowId: 1, escrow: 1 } as const;
type Resolved = Pick<TransactionRecord, "_id" | "network" | "escrowId" | "escrow">;

const DAY_SECONDS = 86_400;
const NEWEST_FIRST = { "escrow.settledAt": -1, _id: -1 } as const;

/** Lists disputes that have ended, the newest first, from the copies of the chain's state. */
export async function listPublicDisputes(query: DisputesQuery, deps: PublicDisputesDeps): Promise<DisputesAnswer> {
  const { limit, cursor } = query;
  const ofNetworks = {
    status: "resolved",
    network: { $in: query.network === undefined ? NETWORKS : [query.network] },
    "escrow.disputedAt": { $gt: 0 },
  };
  const [read, statistics] = await Promise.all([
    readResolved(deps.transactions, ofNetworks, cursor, limit + 1),
    cursor === undefined ? countDisputes(deps, ofNetworks) : null,
  ]);
  const page = read.slice(0, limit);
  const documents = await compareDocuments(page, deps.disputes);
  const last = page.at(-1);
  const hasMore = read.length > limit && last !== undefined;
  return {
    success: true,
    data: page.flatMap((deal) => presentDispute(deal, documents.get(deal._id) ?? null)),
    nextCursor: hasMore ? encodeCursor({ settledAt: last.escrow?.settledAt ?? 0, id: last._id }) : null,
    statistics,
  };
}

async function readResolved(
  transactions: TransactionModel,
  ofNetworks: object,
  after: DisputePosition | undefined,
  limit: number,
): Promise<Resolved[]> {
  const ranges: QueryFilter<TransactionRecord>[] =
    after === undefined
      ? [{}]
      : [
          { "escrow.settledAt": after.settledAt, _id: { $lt: after.id } },
          { "escrow.settledAt": { $lt: after.settledAt } },
        ];
  const read: Resolved[] = [];
  for (const range of ranges) {
    if (read.length === limit) break;
    const found = transactions.find({ ...ofNetworks, ...range }, FIELDS).sort(NEWEST_FIRST);
    read.push(
      ...(await found
        .limit(limit - read.length)
        .hint(RESOLVED_INDEX)
        .lean<Resolved[]>()),
    );
  }
  return read;
}

/** Whether the document of each ruling hashes to what is on chain, by transaction, in one query. No text leaves it. */
async function compareDocuments(
  deals: readonly Resolved[],
  disputes: DisputeModel,
): Promise<ReadonlyMap<string, DocumentState>> {
  const ruled = deals.filter(({ escrow }) => escrow?.resolutionMethod === "ruling");
  const ids = ruled.map(disputeIdOf);
  const fields = { "ruling.documentJson": 1 } as const;
  const kept =
    ids.length === 0
      ? []
      : await disputes.find({ _id: { $in: ids } }, fields).lean<Pick<DisputeRecord, "_id" | "ruling">[]>();
  const hashes = new Map(kept.map(({ _id, ruling }) => [_id, ruling && hashRationale(ruling.documentJson)]));
  return new Map(
    ruled.map((deal) => {
      const hash = hashes.get(disputeIdOf(deal));
      if (hash === undefined || hash === null) return [deal._id, "not_kept"];
      return [deal._id, hash === deal.escrow?.rationaleHash ? "matches" : "differs"];
    }),
  );
}

function presentDispute(
  { network, escrowId, escrow }: Resolved,
  document: DocumentState | null,
): DisputesAnswer["data"] {
  if (escrow === null) return [];
  const { outcome, buyerPercent, disputedAt, settledAt, resolvedBy, resolutionMethod, rationaleHash } = escrow;
  if (outcome === null || buyerPercent === null || disputedAt === null || settledAt === null) return [];
  return [
    {
      escrowId,
      network,
      valueUsd: formatUnits(BigInt(escrow.valueUsd), USD_DECIMALS),
      outcome,
      buyerPercent,
      resolvedBy,
      resolutionMethod,
      rationaleHash: document === null ? null : rationaleHash,
      document,
      disputedAt: isoTime(disputedAt),
      settledAt: isoTime(settledAt),
    },
  ];
}

/** Counts how the latest disputes ended, from the index alone. */
async function countDisputes(
  { transactions, now }: PublicDisputesDeps,
  ofNetworks: object,
): Promise<DisputesAnswer["statistics"]> {
  const since = toUnixSeconds(now()) - STATISTICS_DAYS * DAY_SECONDS;
  const of = (field: string, value: string) => ({ $eq: [`$escrow.${field}`, value] });
  const counted = (...conditions: object[]) => ({ $sum: { $cond: [{ $and: conditions }, 1, 0] } });
  const ruling = of("resolutionMethod", "ruling");
  const [found] = await transactions
    .aggregate<Record<string, number>>([
      { $match: { ...ofNetworks, "escrow.settledAt": { $gte: since } } },
      { $sort: NEWEST_FIRST },
      { $limit: MOST_DISPUTES },
      {
        $group: {
          _id: null,
          ended: { $sum: 1 },
          buyer: counted(of("outcome", "BuyerRefund")),
          seller: counted(of("outcome", "SellerPaid")),
          split: counted(of("outcome", "Split")),
          ruling: counted(ruling, of("resolvedBy", "system")),
          admin: counted(ruling, of("resolvedBy", "admin")),
          agreement: counted(of("resolutionMethod", "agreement")),
          timeout: counted(of("resolutionMethod", "timeout")),
          seconds: { $push: { $subtract: ["$escrow.settledAt", "$escrow.disputedAt"] } },
        },
      },
      { $set: { seconds: { $sortArray: { input: "$seconds", sortBy: 1 } } } },
      // The lower one of the two in the middle.
      {
        $set: {
          medianSeconds: { $arrayElemAt: ["$seconds", { $floor: { $divide: [{ $subtract: ["$ended", 1] }, 2] } }] },
        },
      },
      { $unset: "seconds" },
    ])
    .hint(RESOLVED_INDEX);
  const { ended = 0, medianSeconds = 0, buyer = 0, seller = 0, split = 0, ...methods } = found ?? {};
  if (ended < LEAST_DISPUTES) return null;
  const { ruling: byRuling = 0, admin = 0, agreement = 0, timeout = 0 } = methods;
  return {
    since: isoTime(since),
    ended,
    outcomes: { buyer, seller, split },
    methods: { ruling: byRuling, admin, agreement, timeout },
    medianSeconds,
  };
}
