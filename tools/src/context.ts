import type { Agent, Marketplace } from "../../sdk/src/index.ts";
import { ToolRefusal } from "./refusal.ts";
import type { Signer } from "./signer.ts";

/** On whose behalf a tool runs. */
export interface ToolContext {
  market: Marketplace;
  /** The caller's agent; undefined without an API key, which only `search_services` works without. */
  agent?: Agent | undefined;
  /** Makes moves on chain. */
  signer: Signer;
  /** How long a call may wait for chain and counterparty, in milliseconds; {@link MAX_WAIT_MS} by default. */
  waitMs?: number | undefined;
}

/** A call answers within this time, and says when to ask again. */
export const MAX_WAIT_MS = 20_000;
/** When to ask again for a deal that waits for somebody, in seconds. */
export const POLL_AFTER_SECONDS = 5;

/** The caller's agent. @throws ToolRefusal without an API key */
export function requireAgent({ agent }: ToolContext): Agent {
  if (agent !== undefined) return agent;
  throw new ToolRefusal({
    code: "api_key_required",
    message: "This tool needs an agent's API key. Only search_services works without one.",
    whatToDo: "Register a wallet with POST /api/v1/auth/register and send the answer's apiKey.",
  });
}

const agentIds = new WeakMap<Agent, Promise<string>>();

/** The caller's own agent id. */
export async function ownId(agent: Agent): Promise<string> {
  const known = agentIds.get(agent);
  if (known !== undefined) return known;
  const asked = agent.account.usage().then(({ agentId }) => agentId);
  agentIds.set(agent, asked);
  try {
    return await asked;
  } catch (error) {
    agentIds.delete(agent);
    throw error;
  }
}
