import { randomBytes } from "node:crypto";

import type { Connection } from "mongoose";
import type { Hex } from "viem";

import { isDuplicateKey, withTransaction } from "../../db/connection.ts";
import { ApiError } from "../../http/errors.ts";
import { SESSION_MAX_SECONDS } from "../../http/page-session.ts";
import { SCOPES } from "../../http/scopes.ts";
import type { Scope } from "../../http/scopes.ts";
import type { Clock } from "../../lib/clock.ts";
import { newId, sha256Hex } from "../../lib/ids.ts";
import type { AgentModels } from "../agents/model.ts";
import type { RequireStackWallet } from "../identity/service.ts";
import { nonceRecord } from "../identity/verify-sign-in.ts";
import type { VerifySignIn } from "../identity/verify-sign-in.ts";
import type { AccessModels, StoredKey } from "../limits/access-model.ts";
import { idleEnd } from "../limits/session-use.ts";

/** What a page asks for: to see everything of the agent, or to act for it, too. */
export type AskedScopes = "read" | "all";

/** A wallet's request for a session. */
export interface SessionRequest {
  message: string;
  signature: Hex;
  scopes: AskedScopes;
}

/** A session that hasn't ended. */
export interface PageSession {
  agentId: string;
  walletAddress: `0x${string}`;
  scopes: readonly Scope[];
  createdAt: Date;
  /** When it ends unless it is used again. */
  idleEndsAt: Date;
  /** When it ends in any case. */
  endsAt: Date;
}

/** A new session with its two secrets. Only their hashes are stored. */
export interface OpenedSession extends PageSession {
  /** For the cookie: 64 hexadecimal digits. */
  id: string;
  /** For the page's requests: 64 hexadecimal digits, independent of the id. */
  token: string;
}

/** A session as it is stored. */
export interface FoundSession extends PageSession {
  /** Its id among the agent's keys. It opens nothing. */
  keyId: string;
  tokenHash: string;
}

/** The sessions of pages. */
export interface Sessions {
  /**
   * Opens a session for a text that the agent's wallet has signed.
   * @throws ApiError `sign_in_message_invalid`, `signature_invalid`, `nonce_already_used`, `wallet_not_of_stack`,
   *   `wallet_not_registered`, `session_limit_reached`
   */
  open(request: SessionRequest): Promise<OpenedSession>;
  /** The session with this hash of its id; undefined once it has ended. */
  find(hash: string): Promise<FoundSession | undefined>;
  /** Ends a session now. */
  end(agentId: string, hash: string): Promise<Date>;
}

/** Dependencies of the sessions. */
export interface SessionsDeps {
  connection: Connection;
  models: Pick<AgentModels, "agents" | "nonces">;
  access: AccessModels["access"];
  verifySignIn: VerifySignIn;
  requireStackWallet: RequireStackWallet;
  clock: Clock;
}

/** Sessions that an agent has at once. */
const SESSIONS_AT_ONCE = 10;
const SECRET_BYTES = 32;
const HINT =
  "POST /api/v1/auth/register registers the wallet as an agent; the statement of its message contains the word register";

const newSecret = () => randomBytes(SECRET_BYTES).toString("hex");
const keysThat = (condition: unknown) => ({ $filter: { input: "$keys", as: "key", cond: condition } });

/**
 * Sessions beside the agent's keys, in the same document: they are found, limited, frozen and counted in the same atomic steps, even
 * by different processes. Those that have ended are dropped with the next one.
 */
export function createSessions(deps: SessionsDeps): Sessions {
  const { connection, models, access, verifySignIn, clock } = deps;
  return {
    async open({ message, signature, scopes: asked }) {
      const purpose = asked === "read" ? "open_read_session" : "open_session";
      const { accepted } = await verifySignIn(purpose, message, signature);
      // Before the agent: a wallet that isn't taken here is offered no registration either.
      await deps.requireStackWallet(accepted.address);
      const agent = await models.agents.findOne({ walletKey: accepted.address.toLowerCase() }).lean();
      if (agent === null) {
        throw new ApiError("wallet_not_registered", { details: { walletAddress: accepted.address, hint: HINT } });
      }
      const { _id: agentId, walletAddress } = agent;
      const now = clock.now();
      const endsAt = new Date(now.getTime() + SESSION_MAX_SECONDS * 1_000);
      const [id, token] = [newSecret(), newSecret()];
      const stored: StoredKey = {
        id: newId("ses", now),
        hash: sha256Hex(id),
        createdAt: now,
        expiresAt: idleEnd(now, endsAt),
        suspendedUntil: null,
        windows: {},
        refusals: [],
        scopes: asked === "read" ? ["read"] : [...SCOPES],
        session: { tokenHash: sha256Hex(token), endsAt },
      };
      const isLive = { $or: [{ $eq: ["$$key.expiresAt", null] }, { $gt: ["$$key.expiresAt", now] }] };
      const isSession = { $ne: [{ $type: "$$key.session" }, "missing"] };
      const open = { $size: keysThat({ $and: [isLive, isSession] }) };
      try {
        await withTransaction(connection, async (session) => {
          const { matchedCount } = await access.collection.updateOne(
            { _id: agentId as never, $expr: { $lt: [open, SESSIONS_AT_ONCE] } },
            [{ $set: { keys: { $concatArrays: [keysThat(isLive), [{ $literal: stored }]] } } }] as never,
            { session },
          );
          if (matchedCount === 0) {
            throw new ApiError("session_limit_reached", { details: { limit: SESSIONS_AT_ONCE } });
          }
          await models.nonces.create([nonceRecord(accepted)], { session });
        });
      } catch (error) {
        if (isDuplicateKey(error)) throw new ApiError("nonce_already_used", { cause: error });
        throw error;
      }
      return { ...presentable({ agentId, walletAddress }, stored, endsAt), id, token };
    },

    async find(hash) {
      const found = await access.findOne({ "keys.hash": hash }, { walletAddress: 1, "keys.$": 1 }).lean();
      const [stored] = found?.keys ?? [];
      if (found === null || stored?.session === undefined) return undefined;
      const { tokenHash, endsAt } = stored.session;
      const session = presentable({ agentId: found._id, walletAddress: found.walletAddress }, stored, endsAt);
      return session.idleEndsAt > clock.now() ? { ...session, keyId: stored.id, tokenHash } : undefined;
    },

    async end(agentId, hash) {
      const update = { $pull: { keys: { hash } }, $inc: { keysVersion: 1 } };
      await access.collection.updateOne({ _id: agentId as never, "keys.hash": hash }, update as never);
      return clock.now();
    },
  };
}

function presentable(
  agent: Pick<PageSession, "agentId" | "walletAddress">,
  { scopes = [], createdAt, expiresAt }: StoredKey,
  endsAt: Date,
): PageSession {
  return { ...agent, scopes, createdAt, idleEndsAt: expiresAt ?? endsAt, endsAt };
}
