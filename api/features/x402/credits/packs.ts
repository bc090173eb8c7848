import { CALL_CLASSES } from "../../../config/constants.ts";
import type { CallClass } from "../../../config/constants.ts";
import type { X402Settings } from "../../../config/x402.ts";
import type { RouteDefinition } from "../../../http/define-route.ts";

/** Path of the route that sells packs. */
export const PACK_PATH = "/api/v1/x402/packs/{packId}";

/** Prepaid calls of one class. */
export interface Pack {
  /** @example "search-1000" */
  packId: string;
  class: CallClass;
  calls: number;
  /** Units of USDC: the price of one call times their number. */
  amount: bigint;
}

/** The packs that the service sells: every configured size for every class. */
export class Packs {
  readonly all: readonly Pack[];

  constructor({ prices, packCalls }: Pick<X402Settings, "prices" | "packCalls">) {
    this.all = CALL_CLASSES.flatMap((kind) =>
      packCalls.map((calls): Pack => ({
        packId: `${kind}-${calls}`,
        class: kind,
        calls,
        amount: prices[kind] * BigInt(calls),
      })),
    );
  }

  find(packId: string): Pack | undefined {
    return this.all.find((pack) => pack.packId === packId);
  }

  /** The pack that a request buys; undefined on other routes and for an unknown pack. */
  soldBy(route: Pick<RouteDefinition<never>, "method" | "path">, params: unknown): Pack | undefined {
    if (route.method !== "POST" || route.path !== PACK_PATH) return undefined;
    return this.find((params as { packId: string }).packId);
  }
}
