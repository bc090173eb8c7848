import { z } from "zod";

import { EVIDENCE_MAX_SECONDS } from "./constants.ts";
import type { Network } from "./constants.ts";
import { privateKey } from "./private-key.ts";

/** The keys of the resolver contract's roles on one network; undefined where this service doesn't have them. */
export interface ResolverKeys {
  system: `0x${string}` | undefined;
  admin: `0x${string}` | undefined;
}

/** How disputes are ruled. */
export interface DisputeSettings {
  /** Time for evidence after a dispute was opened, in seconds. */
  evidenceSeconds: number;
  resolverKeys: Readonly<Record<Network, ResolverKeys>>;
  /** The model that judges; undefined for the embedded judge. */
  model: { apiKey: string; baseUrl: string; name: string } | undefined;
  /** Whether attachments are fetched for the judge. */
  fetchesAttachments: boolean;
}

const DEFAULT_BASE_URL = "https://api.openai.com/v1";

/** Variables of disputes. */
export const disputeVariables = {
  DISPUTE_EVIDENCE_SECONDS: z
    .string()
    .regex(/^\d{1,6}$/, "must be a whole number")
    .transform(Number)
    .pipe(z.number().min(1, "must be at least 1").max(EVIDENCE_MAX_SECONDS, `must be at most ${EVIDENCE_MAX_SECONDS}`))
    .default(EVIDENCE_MAX_SECONDS),
  RESOLVER_KEY_BASE_SEPOLIA: privateKey.optional(),
  RESOLVER_KEY_BASE: privateKey.optional(),
  ADMIN_RESOLVER_KEY_BASE_SEPOLIA: privateKey.optional(),
  ADMIN_RESOLVER_KEY_BASE: privateKey.optional(),
  OPENAI_API_KEY: z.string().optional(),
  OPENAI_BASE_URL: z.url({ protocol: /^https?$/, error: "must be an http or https address" }).default(DEFAULT_BASE_URL),
  OPENAI_MODEL: z.string().optional(),
  DISPUTE_FETCH_ATTACHMENTS: z.enum(["true", "false"], "must be true or false").default("false"),
};

type DisputeVariables = z.output<z.ZodObject<typeof disputeVariables>>;

/** The settings of disputes as configured. */
export function disputeSettings(env: DisputeVariables): DisputeSettings {
  const { OPENAI_API_KEY: apiKey, OPENAI_MODEL: name, OPENAI_BASE_URL: baseUrl } = env;
  return {
    evidenceSeconds: env.DISPUTE_EVIDENCE_SECONDS,
    resolverKeys: {
      "base-sepolia": { system: env.RESOLVER_KEY_BASE_SEPOLIA, admin: env.ADMIN_RESOLVER_KEY_BASE_SEPOLIA },
      base: { system: env.RESOLVER_KEY_BASE, admin: env.ADMIN_RESOLVER_KEY_BASE },
    },
    model: apiKey === undefined || name === undefined ? undefined : { apiKey, baseUrl, name },
    fetchesAttachments: env.DISPUTE_FETCH_ATTACHMENTS === "true",
  };
}

/** Problems of the variables in combination. */
export function disputeProblems({ OPENAI_API_KEY, OPENAI_MODEL }: DisputeVariables): string[] {
  if (OPENAI_API_KEY !== undefined && OPENAI_MODEL === undefined) {
    return ["OPENAI_MODEL is missing: OPENAI_API_KEY needs the name of a model"];
  }
  return [];
}
