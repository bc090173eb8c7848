import type { Connection } from "mongoose";

/** The connections of a process to its database, and the requests that wait for one. */
export type PoolState = Record<"open" | "inUse" | "waiting", number>;

/** Counts the pool's events from now on. Call it before the first query. */
export function watchPool(connection: Connection): () => PoolState {
  const state: PoolState = { open: 0, inUse: 0, waiting: 0 };
  const add = (field: keyof PoolState, change: number) => () => {
    state[field] += change;
  };
  connection
    .getClient()
    .on("connectionCreated", add("open", 1))
    .on("connectionClosed", add("open", -1))
    .on("connectionCheckOutStarted", add("waiting", 1))
    .on("connectionCheckOutFailed", add("waiting", -1))
    .on("connectionCheckedOut", add("waiting", -1))
    .on("connectionCheckedOut", add("inUse", 1))
    .on("connectionCheckedIn", add("inUse", -1));
  return () => ({ ...state });
}
