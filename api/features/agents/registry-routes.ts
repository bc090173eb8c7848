import { z } from "zod";

import { KYA_LEVELS, TESTNET } from "../../config/constants.ts";
import type { KyaLevel } from "../../config/constants.ts";
import { addressOutput, addressSchema, dataOf, listOf, timestampOutput } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { encodeCursor, pageCursor, pageLimit, queryInteger } from "../../http/query-params.ts";
import { textSchema } from "../../http/text-schema.ts";
import type { AgentDirectory } from "./directory.ts";
import { kyaLevelSchema } from "./kya-status.ts";
import { REGISTRY_ORDERS, registryOrderOf } from "./registry.ts";
import type { AgentRegistry, RegistryEntry } from "./registry.ts";
import { discoveryScoreOf } from "./score.ts";
import { MOST_SIMILAR } from "./similar-names.ts";

/** Dependencies of the registry routes. */
export interface RegistryDeps {
  agents: AgentDirectory;
  agentRegistry: AgentRegistry;
}

const NAME_MAX_LENGTH = 100;
/** Far beyond any score, and exact in the database. */
const SCORE_BOUND = 1_000_000_000;
/** NFKC makes a character of a name up to 18 long. */
const NAME_KEY_MAX_LENGTH = 18 * NAME_MAX_LENGTH;

/** The scores of an agent by network. */
export const scoresOutput = z.object({ "base-sepolia": z.int(), base: z.int() });

const agentOutput = z
  .object({
    id: z.string(),
    agentId: z.string(),
    agentName: z.string(),
    description: z.string().nullable(),
    walletAddress: addressOutput,
    publicKey: z.string().regex(/^0x04[0-9a-f]{128}$/),
    kyaLevel: kyaLevelSchema,
    onChainScore: z.int().meta({ description: "Testnet score" }),
    scores: scoresOutput,
    discoveryScore: z.number().min(0).max(1),
    createdAt: timestampOutput,
    similarTo: z.array(z.string()).max(MOST_SIMILAR).meta({
      description: "Ids of older agents whose names can be taken for this one's, oldest first",
    }),
  })
  .meta({ id: "Agent" });

const position = z.strictObject({
  order: z.enum(REGISTRY_ORDERS),
  id: z.string().max(64),
  name: z.string().max(NAME_KEY_MAX_LENGTH).optional(),
  score: z.int().optional(),
});

const queryScore = (description: string) => queryInteger({ min: -SCORE_BOUND, max: SCORE_BOUND, description });

const listQuery = z
  .strictObject({
    name: textSchema({ kind: "nameQuery", max: NAME_MAX_LENGTH })
      .optional()
      .meta({ description: "Start of the name, in any case" }),
    wallet: addressSchema.optional(),
    kyaLevel: z
      .enum(KYA_LEVELS.map(String))
      .transform((text) => Number(text) as KyaLevel)
      .optional()
      .meta({ override: { type: "integer", enum: [...KYA_LEVELS] } }),
    minScore: queryScore("Minimum testnet score").optional(),
    maxScore: queryScore("Maximum testnet score").optional(),
    limit: pageLimit,
    cursor: pageCursor(position).optional(),
  })
  .superRefine((query, context) => {
    const { minScore, maxScore, cursor } = query;
    const fault = (path: string, message: string) => {
      context.addIssue({ code: "custom", path: [path], message });
    };
    if (minScore !== undefined && maxScore !== undefined && minScore > maxScore) {
      fault("minScore", "is greater than maxScore");
    }
    if (cursor !== undefined && !isOfOrder(cursor, registryOrderOf(query))) {
      fault("cursor", "belongs to a list with other filters");
    }
  });

function isOfOrder({ order, name, score }: z.output<typeof position>, wanted: string): boolean {
  return (
    order === wanted && (name !== undefined) === (order === "name") && (score !== undefined) === (order === "score")
  );
}

const listAgents = defineRoute({
  name: "agents.list",
  scope: "read",
  method: "GET",
  path: "/api/v1/agents",
  tag: "Agents",
  summary: "The agent registry",
  description:
    "Newest first; by name with `name`, otherwise highest testnet score first with `minScore` or `maxScore`. Scores are " +
    "synced after each settlement.",
  auth: "apiKey",
  limitClass: "general",
  budget: "api",
  query: listQuery,
  responses: { 200: listOf(agentOutput) },
}).handle(async ({ query }, { agentRegistry }: Pick<RegistryDeps, "agentRegistry">) => {
  const { entries, next } = await agentRegistry.list(query);
  const nextCursor = next === null ? null : encodeCursor(next);
  return { status: 200, body: { success: true, data: entries.map(presentAgent), nextCursor } };
});

const readAgent = defineRoute({
  name: "agents.read",
  scope: "read",
  method: "GET",
  path: "/api/v1/agents/{id}",
  tag: "Agents",
  summary: "An agent's public record",
  auth: "apiKey",
  limitClass: "general",
  budget: "api",
  params: z.strictObject({ id: z.string().min(1).max(64) }),
  responses: { 200: dataOf(agentOutput) },
  errors: ["not_found"],
}).handle(async ({ params }, { agents, agentRegistry }: RegistryDeps) => {
  const entry = await agentRegistry.toEntry(await agents.byId(params.id));
  return { status: 200, body: { success: true, data: presentAgent(entry) } };
});

function presentAgent({ record, scores, similarTo }: RegistryEntry): z.input<typeof agentOutput> {
  const { _id: agentId, agentName, description, walletAddress, publicKey, kyaLevel, createdAt } = record;
  const onChainScore = scores[TESTNET];
  return {
    id: agentId,
    agentId,
    agentName,
    description,
    walletAddress,
    publicKey,
    kyaLevel,
    onChainScore,
    scores,
    discoveryScore: discoveryScoreOf(onChainScore),
    createdAt: createdAt.toISOString(),
    similarTo: [...similarTo],
  };
}

export const registryRoutes = [listAgents, readAgent];
