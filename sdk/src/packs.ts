import { parseUnits } from "viem";

import { segment } from "./arguments.ts";
import type * as wire from "./generated/api-types.ts";
import type { CallOptions, CreateOptions, Http } from "./http.ts";

/** Prepaid calls of one class. */
export type Pack = Omit<wire.Pack, "price"> & {
  /** In millionths of a US dollar: $10 is `10_000_000n`. */
  priceUsd: bigint;
};

const PATH = "/api/v1/x402/packs";
const USD_DECIMALS = 6;

/** Prepaid packs of calls. They are drawn once a daily budget is used up, before any payment, and never expire. */
export class Packs {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Every pack on offer. `agent.account.usage` says how many prepaid calls are left. */
  async list(options: CallOptions = {}): Promise<Pack[]> {
    return (await this.#http.get<wire.PacksListResponse>(PATH, options)).data.map(parsePack);
  }

  /**
   * Buys a pack, within the bounds of `payments` of the `Marketplace`. Without them the answer is an `ApiError` with status 402.
   * @throws RefusedError beyond these bounds
   * Errors: `not_found`, `payment_required`.
   */
  async buy(packId: string, options: CreateOptions = {}): Promise<Pack> {
    const once = { idempotencyKey: crypto.randomUUID(), ...options };
    const path = `${PATH}/${segment("packId", packId)}`;
    return parsePack((await this.#http.post<wire.PacksBuyResponse>(path, {}, once)).data);
  }
}

function parsePack({ price, ...pack }: wire.Pack): Pack {
  return { ...pack, priceUsd: parseUnits(price.replace(/^\$/, ""), USD_DECIMALS) };
}
