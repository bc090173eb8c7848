import { z } from "zod";

import { TESTNET } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { addressOutput, networkSchema } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { encodeCursor, pageCursor, pageLimit } from "../../http/query-params.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import { chainOutcomes, chainTrade, countsOf, escrowCounts, MEDIAN_DEALS, presentChange } from "./chain-record.ts";
import { scoreChangeOutput } from "./chain-record.ts";
import type { AgentDirectory } from "./directory.ts";
import { kyaOutput, kyaStatusOf } from "./kya-status.ts";
import { scoresOutput } from "./registry-routes.ts";
import type { AgentRegistry } from "./registry.ts";
import type { DeclinesOf } from "./standings.ts";
import { discoveryScoreOf } from "./score.ts";

/** Dependencies of the trust route. */
export interface TrustDeps {
  agents: AgentDirectory;
  agentRegistry: AgentRegistry;
  historyReaders: Readonly<Record<Network, Pick<Indexer, "agentHistory">>>;
  declinesOf: DeclinesOf;
}

const count = z.int().min(0);

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
    escrows: escrowCounts,
    outcomes: z
      .object({
        ...chainOutcomes,
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
    ...chainTrade,
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

export const trustRoutes = [readTrust];
