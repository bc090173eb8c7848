import { SESSION_IDLE_SECONDS } from "../../http/page-session.ts";
import { withTimeout } from "../../lib/timeout.ts";
import type { AccessModels } from "./access-model.ts";

/** A page's session as a call found it. */
export interface SessionInUse {
  agentId: string;
  /** SHA-256 of its id. */
  hash: string;
  /** When it ends unless it is used again. */
  expiresAt: Date;
  /** When it ends in any case. */
  endsAt: Date;
  /** When the call came, by the database's clock. */
  at: Date;
}

/** Notes that a session was used, at most once a minute, so that a call of a page costs no second write. Never throws. */
export type NoteSessionUse = (session: SessionInUse) => Promise<void>;

/** Dependencies of the notes. */
export interface SessionUseDeps {
  models: Pick<AccessModels, "access">;
  /** Called with the error if the write fails. A later call notes the use then. */
  onFailure: (error: unknown) => void;
}

const NOTED_EVERY_MS = 60_000;
/** How long an answer waits for the note, in milliseconds. */
const PATIENCE_MS = 1_000;

/** When a session ends that is used now and not again. */
export function idleEnd(now: Date, endsAt: Date): Date {
  return new Date(Math.min(now.getTime() + SESSION_IDLE_SECONDS * 1_000, endsAt.getTime()));
}

/** Notes uses in the agents' access records. */
export function createSessionUse({ models: { access }, onFailure }: SessionUseDeps): NoteSessionUse {
  return async ({ agentId, hash, expiresAt, endsAt, at }) => {
    const end = idleEnd(at, endsAt);
    const isNoted = end.getTime() - expiresAt.getTime() < NOTED_EVERY_MS && end < endsAt;
    if (isNoted || end <= expiresAt) return;
    // One that has ended meanwhile stays ended.
    const filter = { _id: agentId as never, keys: { $elemMatch: { hash, expiresAt: { $gt: at } } } };
    const update = { $max: { "keys.$.expiresAt": end } } as never;
    const note = () => access.collection.updateOne(filter, update, { writeConcern: { w: 1 } });
    await withTimeout("note of a session's use", PATIENCE_MS, note).catch(onFailure);
  };
}
