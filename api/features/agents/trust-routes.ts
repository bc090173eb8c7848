import { formatUnits } from "viem";
import { z } from "zod";

import { TESTNET, USD_DECIMALS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { addressOutput, networkSchema, timestampOutput, usdOutput } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { encodeCursor, pageCursor, pageLimit } from "../../http/query-params.ts";
import type { AgentHistory, Indexer } from "../../indexer/indexer-client.ts";
import { SCORE_OUTCOMES } from "../../indexer/schemas.ts";
import type { IndexedScoreChange } from "../../indexer/schemas.ts";
import type { AgentDirectory } from "./directory.ts";
import { kyaOutput, kyaStatusOf } from "./kya-status.ts";
import { scoresOutput } from "./registry-routes.ts";
import type { AgentRegistry } from "./registry.ts";
import type { DeclinesOf } from "./standings.ts";
import { discoveryScoreOf, topCounterpartyShareOf } from "./score.ts";

/** Dependencies of the trust route. */
export interface TrustDeps {
  agents: AgentDirectory;
  agentRegistry: AgentRegistry;
  historyReaders: Readonly<Record<Network, Pick<Indexer, "agentHistory">>>;
  declinesOf: DeclinesOf;
}

/** Released deals that the median is taken of: the latest ones. */
const MEDIAN_DEALS = 1_000;

const count = z.int().min(0);

const scoreChangeOutput = z.object({
  escrowId: z.string(),
  outcome: z.enum(SCORE_OUTCOMES),
  delta: z.int(),
  score: z.int().meta({ description: "Score after the change" }),
  at: timestampOutput,
  blockNumber: count,
  txHash: z.string(),
});

const trustOutput = z
  .object({
    agentId: z.string(),
    walletAddress: addressOutput,
    network: networkSchema,
    indexedBlock: count,
    kya: kyaOutput,
    onChainScore: z.int().meta({ description: "Score on `network`" }),
    scores: scoresOutput,
    discoveryScore: z.number().min(0).max(1).meta({ description: "Of the score on `network`" }),
    escrows: z.object({ asBuyer: count, asSeller: count }),
    outcomes: z
      .object({
        released: count.meta({ description: "As seller" }),
        settled: count.meta({ description: "Released escrows in either role" }),
        disputesWon: count,
        disputesLost: count,
        disputesSplit: count,
        abandoned: count.meta({ description: "Jobs that this seller never delivered" }),
        declined: count.meta({ description: "Jobs that this seller refunded" }),
        lateDeclines: count.meta({ description: "Those of them refunded after the deadline" }),
        earlyDeclines: count.meta({
          description:
            "Those refunded up to the deadline, of escrows from a checkout that were funded within their quote",
        }),
      })
      .meta({ description: "Counted on `network`" }),
    earlyDeclineShare: z.number().min(0).max(1).meta({
      description:
        "Share of `earlyDeclines` in such escrows that have ended; 0 while they are of fewer than three buyers",
    }),
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
    scoreHistory: z.array(scoreChangeOutput).meta({ description: "Newest first" }),
  })
  .meta({ id: "AgentTrust" });

const ORDINAL_MAX_DIGITS = 30;

const readTrust = defineRoute({
  name: "agents.readTrust",
  scope: "read",
  method: "GET",
  path: "/api/v1/agents/{id}/trust",
  tag: "Agents",
  summary: "What an agent's past deals say about it",
  description:
    "Read from the subgraph of `network` at one block; early declines from this service's records. `cursor` pages through `scoreHistory`, which only lists changes.",
  auth: "apiKey",
  limitClass: "general",
  budget: "api",
  params: z.strictObject({ id: z.string().min(1).max(64) }),
  query: z
    .strictObject({
      network: networkSchema.default(TESTNET),
      limit: pageLimit,
      cursor: pageCursor(
        z.strictObject({
          network: networkSchema,
          before: z.string().regex(new RegExp(`^\\d{1,${ORDINAL_MAX_DIGITS}}$`)),
        }),
      ).optional(),
    })
    .superRefine(({ network, cursor }, context) => {
      if (cursor === undefined || cursor.network === network) return;
      context.addIssue({ code: "custom", path: ["cursor"], message: "belongs to another network" });
    }),
  responses: {
    200: z
      .object({
        success: z.literal(true),
        data: trustOutput,
        nextCursor: z.string().nullable().meta({ description: "Null on the last page of `scoreHistory`" }),
      })
      .meta({ id: "AgentTrustAnswer" }),
  },
  errors: ["not_found", "indexer_unavailable"],
}).handle(async ({ params, query }, { agents, agentRegistry, historyReaders, declinesOf }: TrustDeps) => {
  const { network, limit, cursor } = query;
  const record = await agents.byId(params.id);
  const [{ scores }, history, declines] = await Promise.all([
    agentRegistry.toEntry(record),
    historyReaders[network].agentHistory(record.walletAddress, {
      before: cursor === undefined ? undefined : BigInt(cursor.before),
      first: limit + 1,
      deals: MEDIAN_DEALS,
    }),
    declinesOf(network, [record.walletKey]),
  ]);
  const { earlyDeclines, earlyDeclineShare } = declines.get(record.walletKey) ?? {
    earlyDeclines: 0,
    earlyDeclineShare: 0,
  };
  const { outcomes, ...counts } = countsOf(history);
  const onChainScore = Number(history.agent?.score ?? 0n);
  const page = history.changes.slice(0, limit);
  const last = page.at(-1);
  const hasMore = history.changes.length > limit && last !== undefined;
  return {
    status: 200,
    body: {
      success: true,
      data: {
        agentId: record._id,
        walletAddress: record.walletAddress,
        network,
        onChainScore,
        indexedBlock: history.block.number,
        kya: kyaStatusOf(record.kyaLevel),
        scores: { ...scores, [network]: onChainScore },
        discoveryScore: discoveryScoreOf(onChainScore),
        ...counts,
        outcomes: { ...outcomes, earlyDeclines },
        earlyDeclineShare,
        scoreHistory: page.map(presentChange),
      },
      nextCursor: hasMore ? encodeCursor({ network, before: last.ordinal.toString() }) : null,
    },
  };
});

function countsOf({ agent, dealValuesUsd }: AgentHistory) {
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

function presentChange(change: IndexedScoreChange): z.input<typeof scoreChangeOutput> {
  const { escrowId, outcome, delta, score, timestamp, blockNumber, txHash } = change;
  return {
    escrowId,
    outcome,
    blockNumber,
    txHash,
    delta: Number(delta),
    score: Number(score),
    at: new Date(timestamp * 1_000).toISOString(),
  };
}

export const trustRoutes = [readTrust];
