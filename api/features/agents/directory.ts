import type { ClientSession } from "mongoose";

import { ApiError } from "../../http/errors.ts";
import type { AgentModels, AgentRecord } from "./model.ts";

/** Finds registered agents. */
export interface AgentDirectory {
  /** @throws ApiError `not_found` */
  byId(agentId: string): Promise<AgentRecord>;
  /** Agent ids of the registered wallets by lower-case address, in one query. */
  agentIdsByWallet(wallets: readonly string[], session?: ClientSession): Promise<Map<string, string>>;
}

/** Agents whose ids are kept in memory, about 15 MB. */
const MOST_KNOWN_AGENTS = 100_000;

/** Finds agents in the database. Remembers the ids of wallets: an agent has the wallet that it registered with for good. */
export function createAgentDirectory(
  { agents }: Pick<AgentModels, "agents">,
  mostKnown = MOST_KNOWN_AGENTS,
): AgentDirectory {
  const known = new Map<string, string>();

  function remember(read: readonly Pick<AgentRecord, "_id" | "walletKey">[]): void {
    if (known.size + read.length > mostKnown) known.clear();
    for (const { _id, walletKey } of read) known.set(walletKey, _id);
  }

  return {
    async byId(agentId) {
      const agent = await agents.findById(agentId).lean();
      if (agent === null) throw new ApiError("not_found", { details: { agentId } });
      return agent;
    },
    async agentIdsByWallet(wallets, session) {
      const found = new Map<string, string>();
      const unknown: string[] = [];
      for (const walletKey of new Set(wallets.map((wallet) => wallet.toLowerCase()))) {
        const agentId = known.get(walletKey);
        if (agentId === undefined) unknown.push(walletKey);
        else found.set(walletKey, agentId);
      }
      if (unknown.length === 0) return found;
      const read = await agents
        .find({ walletKey: { $in: unknown } }, { walletKey: 1 }, { session: session ?? null })
        .lean();
      for (const { _id, walletKey } of read) found.set(walletKey, _id);
      // What a transaction reads may be an agent of its own, and never come to be.
      if (session === undefined) remember(read);
      return found;
    },
  };
}
