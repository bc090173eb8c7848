import type { Approval, Key } from "../../../sdk/src/generated/api-types.ts";
import type { KeptSession } from "../data/answers.ts";
import { readOwn, readPage } from "./api.ts";
import type { Reading } from "./api.ts";

/** The agent's keys as the wallet last had them shown. Only a signature shows them again. */
export interface KnownKeys {
  keys: readonly Key[];
  /** In milliseconds. */
  readAt: number;
}

/** What the page of keys shows without a signature. */
export interface ApprovalsData {
  /** Newest first. */
  approvals: readonly Approval[];
  /** Whether there are older ones. */
  isShortened: boolean;
  /** When it was read, in milliseconds. */
  readAt: number;
}

const PAGE = 100;

/** Reads what keys with a mandate have asked for: one call. */
export function readApprovals(session: KeptSession): Promise<Reading<ApprovalsData>> {
  return readPage(async () => {
    const path = `/api/v1/approvals?limit=${PAGE}`;
    const { data, nextCursor } = await readOwn<{ data: Approval[]; nextCursor: string | null }>(session, path);
    return { approvals: data, isShortened: nextCursor !== null, readAt: Date.now() };
  });
}
