import { randomBytes } from "node:crypto";

import type { Connection } from "mongoose";

import { accessModels } from "../../../api/features/limits/access-model.ts";
import type { AccessRecord } from "../../../api/features/limits/access-model.ts";
import { byCallClass, dayOf } from "../../../api/features/limits/tiers.ts";
import { hashApiKey } from "../../../api/http/authenticate.ts";

/** Agents that take turns, so that the specification's limits stay in force and none of them reaches its own. */
export class Callers {
  readonly #keys: readonly string[];
  readonly #callsEach: number;
  /** For each connection the agent that calls, and how often it has called. */
  readonly #turns = new Map<number, { caller: string; calls: number }>();
  #next = 0;

  /** @param callsEach calls of an agent before it gives way to the next: fewer than a minute allows */
  constructor(keys: readonly string[], callsEach: number) {
    this.#keys = keys;
    this.#callsEach = callsEach;
  }

  /** The caller of a connection's next call. */
  of(connection: number): string {
    const turn = this.#turns.get(connection);
    if (turn !== undefined && turn.calls < this.#callsEach) {
      turn.calls += 1;
      return turn.caller;
    }
    const caller = this.#keys[this.#next % this.#keys.length] ?? "";
    this.#next += 1;
    this.#turns.set(connection, { caller, calls: 1 });
    return caller;
  }
}

/** The id of the agent that {@link grantAccess} made for a key. */
export function agentIdOf(key: string): string {
  return `agt_bench_${hashApiKey(key)}`;
}

/** Gives wallets access as a registration does, and returns their API keys. */
export async function grantAccess(connection: Connection, wallets: readonly `0x${string}`[]): Promise<string[]> {
  const now = new Date();
  const keys = wallets.map(() => `svc_${randomBytes(32).toString("hex")}`);
  const none = byCallClass(() => 0);
  const records = wallets.map((walletAddress, index): AccessRecord => {
    const key = keys[index] ?? "";
    const hash = hashApiKey(key);
    return {
      _id: agentIdOf(key),
      walletAddress,
      walletKey: walletAddress.toLowerCase(),
      score: 0,
      scoreBlock: -1,
      keysVersion: 1,
      day: dayOf(now),
      used: none,
      beyondBudget: 0,
      earlier: 0,
      reservations: [],
      prepaid: none,
      keys: [
        {
          id: `key_bench_${hash}`,
          hash,
          createdAt: now,
          expiresAt: null,
          suspendedUntil: null,
          windows: {},
          refusals: [],
        },
      ],
      call: null,
    };
  });
  await accessModels(connection).access.collection.insertMany(records as never);
  return keys;
}

/** Wallets that nobody holds a key for. */
export function madeUpWallets(count: number): `0x${string}`[] {
  return Array.from({ length: count }, () => `0x${randomBytes(20).toString("hex")}` as const);
}

/** Addresses of clients, as a proxy reports them. */
export function clientAddresses(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`);
}
