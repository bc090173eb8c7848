import type { KeptSession } from "./answers.ts";

/** In `localStorage`, which belongs to one origin, port included, and which all tabs share. */
const KEY = "session";

/** The session of this browser; undefined without one, and once its longest time is over. */
export function keptSession(): KeptSession | undefined {
  try {
    const session = JSON.parse(localStorage.getItem(KEY) ?? "null") as KeptSession | null;
    return session !== null && Date.parse(session.endsAt) > Date.now() ? session : undefined;
  } catch {
    // Storage that is closed to this page, or another text than ours.
    return undefined;
  }
}

/** Keeps a session for all tabs of this browser. */
export function keepSession({ token, agentId, walletAddress, scopes, endsAt }: KeptSession): void {
  localStorage.setItem(KEY, JSON.stringify({ token, agentId, walletAddress, scopes, endsAt }));
}

/** Forgets a session, unless another tab has opened a new one meanwhile. */
export function forgetSession(session: KeptSession): void {
  if (keptSession()?.token === session.token) localStorage.removeItem(KEY);
}

/** Calls back whenever another tab has signed in or out. Returns what ends that. */
export function watchSession(listener: () => void): () => void {
  const heard = (event: StorageEvent) => {
    if (event.key === KEY || event.key === null) listener();
  };
  addEventListener("storage", heard);
  return () => {
    removeEventListener("storage", heard);
  };
}
