import { z } from "zod";

import type { ChainClient } from "../../chain/chain-client.ts";
import { MAINNET_GRADUATION_SCORE, TESTNET } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { addressOutput, addressSchema, networkSchema, timestampOutput } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import type { AgentDirectory } from "./directory.ts";
import { discoveryScoreOf, isGraduated, maxJobValueUsdOf } from "./score.ts";
import type { Standings } from "./standings.ts";

/** Reads a score directly from the chain. */
export type ScoreReader = Pick<ChainClient, "scoreOf">;

/** Dependencies of the agent routes. */
export interface AgentsDeps {
  agents: AgentDirectory;
  standings: Standings;
  scoreReaders: Readonly<Record<Network, ScoreReader>>;
}

const agentIdParams = z.strictObject({ id: z.string().min(1).max(64) });

const readScore = defineRoute({
  name: "scores.read",
  scope: "read",
  method: "GET",
  path: "/api/v1/agents/score",
  tag: "Agents",
  summary: "The testnet score of a wallet",
  description: "Read from the score contract on base-sepolia. A wallet that hasn't settled anything has score 0.",
  auth: "none",
  limitClass: "keyless",
  budget: "none",
  query: z.strictObject({ address: addressSchema }),
  responses: {
    200: z
      .object({
        address: addressOutput,
        network: networkSchema,
        onChainScore: z.number().int(),
        discoveryScore: z.number().min(0).max(1),
        graduated: z.boolean().meta({ description: "Whether the score allows mainnet checkout" }),
        graduationScore: z.literal(MAINNET_GRADUATION_SCORE),
        maxJobValueUsd: z.number().nullable().meta({ description: "US dollars; null for unlimited" }),
      })
      .meta({ id: "Score" }),
  },
  errors: ["chain_unavailable", "service_unavailable"],
}).handle(async ({ query: { address } }, { scoreReaders }: Pick<AgentsDeps, "scoreReaders">) => {
  const onChainScore = Number(await scoreReaders[TESTNET].scoreOf(address));
  return {
    status: 200,
    body: {
      address,
      network: TESTNET,
      onChainScore,
      discoveryScore: discoveryScoreOf(onChainScore),
      graduated: isGraduated(onChainScore),
      graduationScore: MAINNET_GRADUATION_SCORE,
      maxJobValueUsd: maxJobValueUsdOf(onChainScore),
    },
  };
});

const readPublicKey = defineRoute({
  name: "agents.readPublicKey",
  scope: "none",
  method: "GET",
  path: "/api/v1/agents/{id}/public-key",
  tag: "Agents",
  summary: "The public key for encrypting messages to an agent",
  auth: "none",
  limitClass: "keyless",
  budget: "none",
  params: agentIdParams,
  responses: {
    200: z
      .object({ agentId: z.string(), publicKey: z.string().regex(/^0x04[0-9a-f]{128}$/) })
      .meta({ id: "PublicKey" }),
  },
  errors: ["not_found", "service_unavailable"],
}).handle(async ({ params }, { agents }: Pick<AgentsDeps, "agents">) => {
  const { _id: agentId, publicKey } = await agents.byId(params.id);
  return { status: 200, body: { agentId, publicKey } };
});

const readDiscoveryScore = defineRoute({
  name: "agents.readDiscoveryScore",
  scope: "read",
  method: "GET",
  path: "/api/v1/agents/{id}/discovery-score",
  tag: "Agents",
  summary: "The agent's score as used in search",
  description: "Synced from testnet on-chain data after each completed or disputed escrow.",
  auth: "apiKey",
  limitClass: "general",
  budget: "api",
  params: agentIdParams,
  responses: {
    200: z
      .object({
        agentId: z.string(),
        discoveryScore: z.number().min(0).max(1),
        onChainScore: z.number().int(),
        lastSynced: timestampOutput,
      })
      .meta({ id: "DiscoveryScore" }),
  },
  errors: ["not_found", "indexer_unavailable"],
}).handle(async ({ params }, { agents, standings }: Pick<AgentsDeps, "agents" | "standings">) => {
  const { _id: agentId, walletAddress, walletKey } = await agents.byId(params.id);
  const known = (await standings.of(TESTNET, [walletAddress])).get(walletKey);
  if (known === undefined) await standings.sync(TESTNET, [walletAddress]);
  const standing = known ?? (await standings.of(TESTNET, [walletAddress])).get(walletKey);
  if (standing === undefined) throw new Error(`The standing of ${walletAddress} was not stored`);
  const { score, syncedAt } = standing;
  return {
    status: 200,
    body: { agentId, discoveryScore: discoveryScoreOf(score), onChainScore: score, lastSynced: syncedAt.toISOString() },
  };
});

export const agentRoutes = [readScore, readPublicKey, readDiscoveryScore];
