import type { ClientSession, Connection } from "mongoose";
import type { Hex } from "viem";

import { TESTNET } from "../../config/constants.ts";
import { isDuplicateKey, withTransaction } from "../../db/connection.ts";
import { ApiError } from "../../http/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { newId } from "../../lib/ids.ts";
import { nameSkeletons } from "../../lib/name-skeleton.ts";
import type { AgentModels, AgentRecord } from "../agents/model.ts";
import { nameKeyOf } from "../agents/registry.ts";
import type { Standings } from "../agents/standings.ts";
import type { ApiKeys, IssuedKey, KnownScore } from "./keys.ts";
import { nonceRecord } from "./verify-sign-in.ts";
import type { VerifySignIn } from "./verify-sign-in.ts";

/** A request to register an agent. */
export interface Registration {
  agentName: string;
  walletAddress: `0x${string}`;
  message: string;
  signature: Hex;
  description?: string | undefined;
  /** Whether a web page asks, with a wallet of its browser. */
  isFromPage: boolean;
}

/** A request for a new key. */
export interface KeyRequest {
  message: string;
  signature: Hex;
  revokeOthersAfterSeconds: number;
}

/** Registers agents and issues keys for signatures of their wallets. */
export interface IdentityService {
  register(registration: Registration): Promise<{ agent: AgentRecord; apiKey: string }>;
  issueKey(request: KeyRequest): Promise<IssuedKey & { agentId: string; othersEndAt: Date }>;
}

/** Called in the transaction of a registration. */
export type RegistrationListener = (
  agent: { agentId: string; wallet: string },
  session: ClientSession,
) => Promise<void>;

/** Refuses a wallet that wasn't made for the local stack, where there is one. @throws ApiError `wallet_not_of_stack` */
export type RequireStackWallet = (address: `0x${string}`) => Promise<void>;

/** Dependencies of the identity service. */
export interface IdentityServiceDeps {
  connection: Connection;
  models: AgentModels;
  /** Copies of the scores that budgets are multiplied by. */
  standings: Pick<Standings, "of">;
  keys: ApiKeys;
  clock: Clock;
  verify: VerifySignIn;
  onRegistered: RegistrationListener;
  requireStackWallet: RequireStackWallet;
}

/** Sign-in with the agent's own wallet (EIP-4361 text, EIP-191 signature). */
export function createIdentityService(deps: IdentityServiceDeps): IdentityService {
  const { connection, models, standings, keys, clock, verify } = deps;

  async function knownScore(walletKey: string): Promise<KnownScore | undefined> {
    return (await standings.of(TESTNET, [walletKey])).get(walletKey);
  }

  return {
    async register({ agentName, walletAddress, message, signature, description, isFromPage }) {
      const { accepted, publicKey } = await verify("register", message, signature);
      if (accepted.address !== walletAddress) {
        throw new ApiError("sign_in_message_invalid", {
          details: ["address must be the walletAddress of the request"],
        });
      }
      // A program signs with a key that it was given for this. A browser has the wallet of its owner's other money, too.
      if (isFromPage) await deps.requireStackWallet(walletAddress);
      const now = clock.now();
      const walletKey = walletAddress.toLowerCase();
      const agent: AgentRecord = {
        _id: newId("agt", now),
        agentName,
        nameKey: nameKeyOf(agentName),
        nameSkeletons: nameSkeletons(agentName),
        description: description ?? null,
        walletAddress,
        walletKey,
        publicKey,
        kyaLevel: 0,
        testnetScore: 0,
        testnetScoreBlock: -1,
        createdAt: now,
      };
      const known = await knownScore(walletKey);
      if ((await models.agents.exists({ walletKey })) !== null) throw alreadyRegistered();
      try {
        const { apiKey } = await withTransaction(connection, async (session) => {
          await models.nonces.create([nonceRecord(accepted)], { session });
          await models.agents.create([agent], { session });
          await deps.onRegistered({ agentId: agent._id, wallet: walletKey }, session);
          return keys.issue(agent, now, known, session);
        });
        return { agent, apiKey };
      } catch (error) {
        // When one wallet registers twice at the same moment, the unique index accepts only one.
        if (isDuplicateKey(error, "walletKey")) throw alreadyRegistered(error);
        if (isDuplicateKey(error)) throw new ApiError("nonce_already_used", { cause: error });
        throw error;
      }
    },

    async issueKey({ message, signature, revokeOthersAfterSeconds }) {
      const { accepted } = await verify("issue_key", message, signature);
      const agent = await models.agents.findOne({ walletKey: accepted.address.toLowerCase() }).lean();
      if (agent === null) throw new ApiError("not_found", { details: { walletAddress: accepted.address } });
      const known = await knownScore(agent.walletKey);
      const othersEndAt = new Date(clock.now().getTime() + revokeOthersAfterSeconds * 1_000);
      try {
        const issuedKey = await withTransaction(connection, async (session) => {
          // First, because the agent's calls write the same record: the sooner, the fewer conflicts.
          const issued = await keys.issue(agent, othersEndAt, known, session);
          await models.nonces.create([nonceRecord(accepted)], { session });
          return issued;
        });
        return { agentId: agent._id, ...issuedKey, othersEndAt };
      } catch (error) {
        if (isDuplicateKey(error)) throw new ApiError("nonce_already_used", { cause: error });
        throw error;
      }
    },
  };
}

function alreadyRegistered(cause?: unknown): ApiError {
  const hint =
    "POST /api/v1/auth/keys issues a new key for this wallet; the statement of its message contains the words API key";
  return new ApiError("wallet_already_registered", { details: { hint }, cause });
}
