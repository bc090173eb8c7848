import { randomBytes } from "node:crypto";

import type { ClientSession } from "mongoose";

import { API_KEY_HEX_LENGTH, API_KEY_PREFIX } from "../../config/constants.ts";
import { hashApiKey } from "../../http/authenticate.ts";
import type { KeyDirectory } from "../../http/authenticate.ts";
import type { Clock } from "../../lib/clock.ts";
import { newId } from "../../lib/ids.ts";
import type { AgentModels, AgentRecord } from "../agents/model.ts";

/** The API keys of agents. */
export interface ApiKeys extends KeyDirectory {
  /**
   * Issues a key to an agent within a transaction. The key itself is returned here and never stored. When two are
   * issued at the same moment, even by different processes, one is retried after the other and sees its key.
   */
  issue(agent: Pick<AgentRecord, "_id" | "walletAddress">, session: ClientSession): Promise<string>;
  /** Ends the agent's other keys at a moment, unless they end earlier anyway. */
  endOthers(agentId: string, keptKeyHash: string, at: Date, session: ClientSession): Promise<void>;
  /** Ends a key now. */
  revoke(keyId: string): Promise<Date>;
}

/** API keys stored in the database. */
export function createApiKeys({ agents, keys }: Pick<AgentModels, "agents" | "keys">, clock: Clock): ApiKeys {
  const isUnexpired = () => ({ $or: [{ expiresAt: null }, { expiresAt: { $gt: clock.now() } }] });
  return {
    async findCaller(keyHash) {
      const key = await keys.findOne({ keyHash, ...isUnexpired() }).lean();
      return key === null ? undefined : { agentId: key.agentId, walletAddress: key.walletAddress, keyId: key._id };
    },
    async issue(agent, session) {
      const apiKey = API_KEY_PREFIX + randomBytes(API_KEY_HEX_LENGTH / 2).toString("hex");
      const now = clock.now();
      const record = {
        _id: newId("key", now),
        keyHash: hashApiKey(apiKey),
        agentId: agent._id,
        walletAddress: agent.walletAddress,
        createdAt: now,
        expiresAt: null,
      };
      // Every issue writes the agent's record, so that two at the same moment conflict. Nothing else that they write
      // would.
      await agents.updateOne({ _id: agent._id }, { $inc: { keysIssued: 1 } }, { session });
      await keys.create([record], { session });
      return apiKey;
    },
    async endOthers(agentId, keptKeyHash, at, session) {
      const endsLater = { $or: [{ expiresAt: null }, { expiresAt: { $gt: at } }] };
      await keys.updateMany({ agentId, keyHash: { $ne: keptKeyHash }, ...endsLater }, { expiresAt: at }, { session });
    },
    async revoke(keyId) {
      const now = clock.now();
      await keys.updateOne({ _id: keyId, ...isUnexpired() }, { expiresAt: now });
      return now;
    },
  };
}
