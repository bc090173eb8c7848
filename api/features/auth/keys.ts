import { randomBytes } from "node:crypto";

import type { ClientSession } from "mongoose";

import { API_KEY_HEX_LENGTH, API_KEY_PREFIX } from "../../config/constants.ts";
import { hashApiKey } from "../../http/authenticate.ts";
import type { KeyDirectory } from "../../http/authenticate.ts";
import type { Clock } from "../../lib/clock.ts";
import { newId } from "../../lib/ids.ts";
import type { AgentModels, AgentRecord } from "../agents/model.ts";

/** API keys of agents. */
export interface ApiKeys extends KeyDirectory {
  /**
   * Makes a key for an agent within a transaction. The key itself is given out here and kept nowhere. Of two issues at
   * the same moment, in whichever processes, one runs again after the other and sees its key.
   */
  issue(agent: Pick<AgentRecord, "_id" | "walletAddress">, session: ClientSession): Promise<string>;
  /** Ends every other key of an agent at a moment, those that end earlier excepted. */
  endOthers(agentId: string, keptKeyHash: string, at: Date, session: ClientSession): Promise<void>;
  /** Ends a key now. */
  revoke(keyId: string): Promise<Date>;
}

/** The keys of the database. */
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
      // Every issue writes the agent's own record: without that, two of them would write nothing that the other reads.
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
