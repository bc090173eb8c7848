import { formatUnits } from "viem";
import { z } from "zod";

import { USD_DECIMALS } from "../../config/constants.ts";
import { timestampOutput, usdOutput } from "../../http/common-schemas.ts";
import type { AgentHistory } from "../../indexer/indexer-client.ts";
import { SCORE_OUTCOMES } from "../../indexer/schemas.ts";
import type { IndexedScoreChange } from "../../indexer/schemas.ts";
import { isoTime } from "../../lib/clock.ts";
import { topCounterpartyShareOf } from "./score.ts";

/** Released deals that the median is taken of: the latest ones. */
export const MEDIAN_DEALS = 1_000;

const count = z.int().min(0);

/** One change of a score in an answer. */
export const scoreChangeOutput = z.object({
  escrowId: z.string(),
  outcome: z.enum(SCORE_OUTCOMES),
  delta: z.int(),
  score: z.int().meta({ description: "Score after the change" }),
  at: timestampOutput,
  blockNumber: count,
  txHash: z.string(),
});

/** How a wallet's escrows on a network ended. */
export const chainOutcomes = {
  released: count.meta({ description: "As seller" }),
  settled: count.meta({ description: "Released escrows in either role" }),
  disputesWon: count,
  disputesLost: count,
  disputesSplit: count,
  abandoned: count.meta({ description: "Jobs that this seller never delivered" }),
  declined: count.meta({ description: "Jobs that this seller refunded" }),
  lateDeclines: count.meta({ description: "Those of them refunded after the deadline" }),
};

/** Escrows in each role. */
export const escrowCounts = z.object({ asBuyer: count, asSeller: count });

/** With whom a wallet deals, and for how much. */
export const chainTrade = {
  distinctCounterparties: count,
  topCounterpartyShare: z
    .number()
    .min(0)
    .max(1)
    .meta({ description: "Share of the settled deals that were with the most frequent counterparty" }),
  medianDealUsd: usdOutput
    .nullable()
    .meta({ description: `Of the latest ${MEDIAN_DEALS} released deals in either role; null without one` }),
  settledVolumeUsd: usdOutput.meta({ description: "Value of all released deals as seller" }),
};

/** The counts of a wallet's history. A wallet without escrows has zeros. */
export function countsOf({ agent, dealValuesUsd }: AgentHistory) {
  const median = medianOf(dealValuesUsd);
  return {
    escrows: { asBuyer: agent?.escrowsAsBuyer ?? 0, asSeller: agent?.escrowsAsSeller ?? 0 },
    outcomes: {
      released: agent?.released ?? 0,
      settled: agent?.settledCount ?? 0,
      disputesWon: agent?.disputesWon ?? 0,
      disputesLost: agent?.disputesLost ?? 0,
      disputesSplit: agent?.disputesSplit ?? 0,
      abandoned: agent?.abandoned ?? 0,
      declined: agent?.declined ?? 0,
      lateDeclines: agent?.lateDeclines ?? 0,
    },
    distinctCounterparties: agent?.distinctCounterparties ?? 0,
    topCounterpartyShare: agent === null ? 0 : topCounterpartyShareOf(agent),
    medianDealUsd: median === null ? null : formatUnits(median, USD_DECIMALS),
    settledVolumeUsd: formatUnits(agent?.settledVolumeUsd ?? 0n, USD_DECIMALS),
  };
}

/** The middle value; of an even number of values the mean of the two in the middle, rounded down. */
function medianOf(values: readonly bigint[]): bigint | null {
  const sorted = values.toSorted((one, other) => (one < other ? -1 : one > other ? 1 : 0));
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  return upper === undefined || lower === undefined ? null : (lower + upper) / 2n;
}

/** A change of a score as it is answered. */
export function presentChange(change: IndexedScoreChange): z.input<typeof scoreChangeOutput> {
  const { escrowId, outcome, delta, score, timestamp, blockNumber, txHash } = change;
  return {
    escrowId,
    outcome,
    blockNumber,
    txHash,
    delta: Number(delta),
    score: Number(score),
    at: isoTime(timestamp),
  };
}
