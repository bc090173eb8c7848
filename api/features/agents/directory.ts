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

/** Finds agents in the database. */
export function createAgentDirectory({ agents }: Pick<AgentModels, "agents">): AgentDirectory {
  return {
    async byId(agentId) {
      const agent = await agents.findById(agentId).lean();
      if (agent === null) throw new ApiError("not_found", { details: { agentId } });
      return agent;
    },
    async agentIdsByWallet(wallets, session) {
      const walletKeys = [...new Set(wallets.map((wallet) => wallet.toLowerCase()))];
      const wanted = { walletKey: { $in: walletKeys } };
      const found = await agents.find(wanted, { walletKey: 1 }, { session: session ?? null }).lean();
      return new Map(found.map((agent) => [agent.walletKey, agent._id]));
    },
  };
}
