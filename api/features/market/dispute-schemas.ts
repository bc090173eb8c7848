import { z } from "zod";

import { networkSchema, timestampOutput, usdOutput } from "../../http/common-schemas.ts";
import { pageCursor, pageLimit } from "../../http/query-params.ts";
import { DISPUTE_OUTCOMES, RESOLUTION_METHODS, RESOLVED_BY } from "../../indexer/schemas.ts";

/** Ended disputes from which on statistics are given: fewer would tell of single deals. */
export const LEAST_DISPUTES = 5;
/** Days that the statistics cover. */
export const STATISTICS_DAYS = 30;
/** Disputes that are counted at most: the latest. */
export const MOST_DISPUTES = 10_000;

/** Whether the stored document of a ruling hashes to what is on chain. */
export const DOCUMENT_STATES = ["matches", "differs", "not_kept"] as const;

const position = z.strictObject({ settledAt: z.int().min(0), id: z.string().max(64) });
export type DisputePosition = z.output<typeof position>;

export const disputesQuery = z.strictObject({
  network: networkSchema.optional(),
  limit: pageLimit,
  cursor: pageCursor(position).optional(),
});
export type DisputesQuery = z.output<typeof disputesQuery>;

const bytes32 = z.string().regex(/^0x[0-9a-fA-F]{64}$/);
const count = z.int().min(0);

const endedDispute = z
  .object({
    escrowId: bytes32,
    network: networkSchema,
    valueUsd: usdOutput.meta({ description: "Of the deposit, by the price at its creation" }),
    outcome: z.enum(DISPUTE_OUTCOMES),
    buyerPercent: z.int().min(0).max(100),
    resolvedBy: z.enum(RESOLVED_BY).nullable(),
    resolutionMethod: z.enum(RESOLUTION_METHODS).nullable(),
    rationaleHash: bytes32.nullable().meta({ description: "Of the ruling's document; null without a ruling" }),
    document: z
      .enum(DOCUMENT_STATES)
      .nullable()
      .meta({ description: "Whether the stored document hashes to `rationaleHash`; null without a ruling" }),
    disputedAt: timestampOutput,
    settledAt: timestampOutput,
  })
  .meta({ id: "EndedDispute" });

const statistics = z
  .object({
    since: timestampOutput,
    ended: count,
    outcomes: z.object({ buyer: count, seller: count, split: count }),
    methods: z.object({ ruling: count, admin: count, agreement: count, timeout: count }),
    medianSeconds: count.meta({ description: "From the dispute to its end" }),
  })
  .meta({ id: "DisputeStatistics" })
  .nullable()
  .meta({
    description:
      `Of the last ${STATISTICS_DAYS} days, at most the latest ${MOST_DISPUTES}. Null on later pages, and below ` +
      `${LEAST_DISPUTES} disputes`,
  });

export const disputesAnswer = z
  .object({
    success: z.literal(true),
    data: z.array(endedDispute),
    nextCursor: z.string().nullable(),
    statistics,
  })
  .meta({ id: "EndedDisputePage" });
