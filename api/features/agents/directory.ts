import { ApiError } from "../../http/errors.ts";
import type { AgentModels, AgentRecord } from "./model.ts";

/** Finds registered agents. */
export interface AgentDirectory {
  /** @throws ApiError `not_found` */
  byId(agentId: string): Promise<AgentRecord>;
  /** Agents by lower-case wallet address; wallets that are not registered are missing. */
  byWallets(wallets: readonly string[]): Promise<Map<string, AgentRecord>>;
  /** Agent ids by lower-case address, those that are registered, in one query. */
  agentIdsByWallet(wallets: readonly string[]): Promise<Map<string, string>>;
}

/** The agents of the database. */
export function createAgentDirectory({ agents }: Pick<AgentModels, "agents">): AgentDirectory {
  async function byWallets(wallets: readonly string[]): Promise<Map<string, AgentRecord>> {
    const walletKeys = [...new Set(wallets.map((wallet) => wallet.toLowerCase()))];
    const found = await agents.find({ walletKey: { $in: walletKeys } }).lean();
    return new Map(found.map((agent) => [agent.walletKey, agent]));
  }

  return {
    async byId(agentId) {
      const agent = await agents.findById(agentId).lean();
      if (agent === null) throw new ApiError("not_found", { details: { agentId } });
      return agent;
    },
    byWallets,
    async agentIdsByWallet(wallets) {
      return new Map([...(await byWallets(wallets))].map(([wallet, agent]) => [wallet, agent._id]));
    },
  };
}
