import { z } from "zod";

import { dataOf, networkSchema, timestampOutput } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { answerText } from "../../http/prepared-text.ts";
import type { RegistrationFiles } from "./files.ts";
import type { IdentityLinks } from "./links.ts";
import { domainFile, registrationFile } from "./registration-file.ts";

/** Dependencies of the routes. */
export interface Erc8004Deps {
  identityLinks: IdentityLinks;
  registrationFiles: RegistrationFiles;
  publicUrl: string;
}

const linkOutput = z
  .object({
    agentId: z.string(),
    network: networkSchema,
    id: z.int().min(0),
    agentRegistry: z.string(),
    registrationFile: z.url().meta({ description: "For the identity's `agentURI`" }),
    linkedAt: timestampOutput,
  })
  .meta({ id: "LinkedIdentity" });

const linkIdentity = defineRoute({
  name: "agents.linkIdentity",
  scope: "none",
  method: "POST",
  path: "/api/v1/agents/erc8004",
  tag: "Agents",
  summary: "Links an identity of the ERC-8004 registry",
  description:
    "The registry's `getAgentWallet` must be the agent's wallet. Replaces its earlier identity on that network.",
  auth: "apiKey",
  limitClass: "general",
  budget: "api",
  body: z
    .strictObject({ network: networkSchema, id: z.int().min(0) })
    .meta({ id: "IdentityRequest", examples: [{ network: "base-sepolia", id: 22 }] }),
  responses: { 200: dataOf(linkOutput) },
  errors: ["identity_wallet_mismatch", "not_found", "chain_unavailable"],
}).handle(async ({ body, caller }, { identityLinks, publicUrl }: Pick<Erc8004Deps, "identityLinks" | "publicUrl">) => {
  const { agentId, network, identityId, agentRegistry, linkedAt } = await identityLinks.link(caller, body);
  const data = {
    agentId,
    network,
    id: identityId,
    agentRegistry,
    registrationFile: `${publicUrl}/agents/${agentId}/registration.json`,
    linkedAt: linkedAt.toISOString(),
  };
  return { status: 200, body: { success: true, data } };
});

const file = {
  scope: "none",
  method: "GET",
  tag: "Documentation",
  audience: "crawlers",
  auth: "none",
  limitClass: "unlimited",
  budget: "none",
} as const;
const HEADERS = { type: "application/json; charset=utf-8", cacheControl: "public, max-age=30" };

const readRegistration = defineRoute({
  ...file,
  name: "crawlers.readRegistration",
  path: "/agents/{id}/registration.json",
  summary: "An agent's registration file (ERC-8004)",
  params: z.strictObject({ id: z.string().min(1).max(64) }),
  responses: { 200: registrationFile, 304: z.undefined() },
  errors: ["not_found", "rate_limit_exceeded", "service_unavailable"],
}).handle(async ({ params, headers, ip }, { registrationFiles }: Pick<Erc8004Deps, "registrationFiles">) =>
  answerText(await registrationFiles.ofAgent(params.id, ip), headers, HEADERS),
);

const readDomain = defineRoute({
  ...file,
  name: "crawlers.readRegistrations",
  path: "/.well-known/agent-registration.json",
  summary: "The identities of the service's agents (ERC-8004)",
  responses: { 200: domainFile, 304: z.undefined() },
  errors: ["service_unavailable"],
}).handle(async ({ headers }, { registrationFiles }: Pick<Erc8004Deps, "registrationFiles">) =>
  answerText(await registrationFiles.ofDomain(), headers, HEADERS),
);

export const erc8004Routes = [linkIdentity, readRegistration, readDomain];
