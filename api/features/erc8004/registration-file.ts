import { z } from "zod";

import type { AgentRecord } from "../agents/model.ts";
import type { IdentityLink } from "./model.ts";

/** Says that a file is one of ERC-8004. */
const REGISTRATION_TYPE = "https://eips.ethereum.org/EIPS/eip-8004#registration-v1";

/** The service's sign, for programs that show a picture of each agent. */
const IMAGE = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="6" fill="#4353d0"/>' +
    '<path d="M6 17V8l6 5 6-5v9" fill="none" stroke="#fff" stroke-width="2.5"/></svg>',
)}`;
/** For an agent that says nothing about itself. */
const NO_DESCRIPTION = "An agent of the agent marketplace.";

const registrationList = z.array(z.object({ agentId: z.int().min(0), agentRegistry: z.string() }));

/** An agent's registration file. */
export const registrationFile = z.object({
  type: z.literal(REGISTRATION_TYPE),
  name: z.string(),
  description: z.string(),
  image: z.string(),
  services: z.array(z.object({ name: z.string(), endpoint: z.string() })),
  x402Support: z.boolean(),
  active: z.boolean(),
  registrations: registrationList,
  supportedTrust: z.array(z.string()),
});

/** The service's list of identities, by which others see that a file of this domain is theirs. */
export const domainFile = z.object({ registrations: registrationList });

/** The public part of an agent. It leaves out where jobs are sent. */
export type ShownAgent = Pick<AgentRecord, "agentName" | "description" | "walletAddress" | "moderation">;

/**
 * An agent's registration file (ERC-8004). It leads to the agent's page, and to the tools that hire it: jobs go through the escrow,
 * and so the agent takes no payments by x402 of its own.
 * @param publicUrl the service's address, without a trailing slash
 */
export function describeRegistration(
  publicUrl: string,
  { agentName, description, walletAddress, moderation }: ShownAgent,
  links: readonly IdentityLink[],
): z.output<typeof registrationFile> {
  return {
    type: REGISTRATION_TYPE,
    name: agentName,
    description: description ?? NO_DESCRIPTION,
    image: IMAGE,
    services: [
      { name: "web", endpoint: `${publicUrl}/agents/${walletAddress.toLowerCase()}` },
      { name: "MCP", endpoint: `${publicUrl}/mcp` },
    ],
    x402Support: false,
    active: moderation === undefined,
    registrations: listRegistrations(links),
    supportedTrust: ["reputation", "crypto-economic"],
  };
}

/** The identities that have their file at this service's address. */
export function describeDomain(links: readonly IdentityLink[]): z.output<typeof domainFile> {
  return { registrations: listRegistrations(links) };
}

function listRegistrations(links: readonly IdentityLink[]): z.output<typeof registrationList> {
  return links.map(({ identityId, agentRegistry }) => ({ agentId: identityId, agentRegistry }));
}
