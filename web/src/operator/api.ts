import { createContext } from "preact";
import { useContext } from "preact/hooks";

import type { Answer, Network } from "../data/answers.ts";
import { send } from "../data/refresh.ts";

/** A call with the admin key. */
export interface AdminRequest {
  method?: "GET" | "POST";
  body?: unknown;
}

const LIMIT_MS = 20_000;

/** Sends a call with a key. No cookie goes along. Without an answer, the status is 0. */
export function askAsAdmin(key: string, path: string, { method = "GET", body }: AdminRequest = {}): Promise<Answer> {
  const headers = { authorization: `Bearer ${key}` };
  return send(path, { method, body, headers, credentials: "omit", limitMs: LIMIT_MS, aborted: undefined });
}

/** Asks with the key that the page holds. Once it holds none, or another one than the service's, the page asks for it again. */
export type AskAdmin = (path: string, request?: AdminRequest) => Promise<Answer>;

/** How the views of the page ask. */
export const Admin = createContext<AskAdmin>(() => Promise.resolve({ status: 0, body: undefined }));

/** What asks with the key that the page holds. */
export function useAdmin(): AskAdmin {
  return useContext(Admin);
}

const ADMIN = "/api/v1/admin";
export const DECISIONS = `${ADMIN}/moderation`;
export const REPORTS = `${ADMIN}/moderation/reports`;
export const APPEALS = `${ADMIN}/moderation/appeals`;
export const QUARANTINE = `${ADMIN}/quarantine`;

/** The list of a network's open disputes. */
export function openDisputesPath(network: Network): string {
  return `${ADMIN}/disputes?network=${network}`;
}

/** The call that sets an agent's KYA level. */
export function levelPath(agentId: string): string {
  return `${ADMIN}/agents/${encodeURIComponent(agentId)}/kya`;
}

/** What both parties of a dispute said. */
export function casePath(disputeId: string): string {
  return `${ADMIN}/disputes/${encodeURIComponent(disputeId)}`;
}

/** The call that rules a dispute. */
export function rulingPath(disputeId: string): string {
  return `${casePath(disputeId)}/ruling`;
}
