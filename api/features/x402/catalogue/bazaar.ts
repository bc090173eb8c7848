import { formatUnits } from "viem";

import { CALL_CLASSES, USDC_DECIMALS } from "../../../config/constants.ts";
import { PAID_RESOURCES } from "../../../http/paid-resources.ts";
import type { PaidResource } from "../../../http/paid-resources.ts";
import type { X402Settings } from "../../../config/x402.ts";
import { PACK_PATH } from "../credits/packs.ts";
import type { Packs } from "../credits/packs.ts";
import { requirementsV2 } from "../offer/terms.ts";
import type { Terms } from "../offer/terms.ts";

/** Name of the service in catalogues: at most 32 ASCII characters. */
const SERVICE_NAME = "Agent marketplace";
const MIME_TYPE = "application/json";

/** What the documents need. */
export interface BazaarDeps {
  settings: Pick<X402Settings, "prices">;
  packs: Packs;
  /** The service's address, without a trailing slash. */
  publicUrl: string;
  /** Payment terms of a path; undefined if no signed payment can be settled. */
  termsFor: (charge: Pick<Terms, "amount" | "description">, path: string) => Terms | undefined;
  /** When the process began to offer them. */
  startedAt: Date;
}

/** What is for sale at an address, with the names of the bazaar (x402, version 2). */
type BazaarItem = ReturnType<typeof itemOf>;

/** A page of the catalogue. */
export interface BazaarPage {
  type: string | undefined;
  limit: number;
  offset: number;
}

/** What can be paid for by x402, as catalogues ask for it. */
export class Bazaar {
  readonly #deps: BazaarDeps;
  readonly #items: readonly BazaarItem[];

  constructor(deps: BazaarDeps) {
    this.#deps = deps;
    this.#items = [...this.#classItems(), ...this.#packItems()];
  }

  /** The body of `/discovery/resources`. */
  list({ type, limit, offset }: BazaarPage) {
    const found = this.#items.filter((item) => type === undefined || item.type === type);
    return {
      x402Version: 2,
      items: found.slice(offset, offset + limit),
      pagination: { limit, offset, total: found.length },
    };
  }

  /** The body of `/.well-known/x402.json`. */
  describe() {
    const { publicUrl, settings } = this.#deps;
    const isForSale = this.#items.length > 0;
    return {
      version: 1,
      draft: true,
      x402Version: 2,
      resources: this.#items.map(({ resource }) => resource),
      classes: CALL_CLASSES.filter(() => isForSale).map((kind) => ({
        class: kind,
        method: PAID_RESOURCES[kind].method,
        resource: publicUrl + PAID_RESOURCES[kind].path,
        price: { currency: "USD", amount: formatUnits(settings.prices[kind], USDC_DECIMALS) },
      })),
      instructions: isForSale
        ? `A call needs an API key, and is asked for a payment once the key's daily budget of its class is used up. ` +
          `Packs are asked for theirs at once. See ${publicUrl}/guides/x402.md`
        : "This service takes no signed payments for calls.",
    };
  }

  #classItems(): BazaarItem[] {
    return CALL_CLASSES.flatMap((kind) => {
      const resource = PAID_RESOURCES[kind];
      return this.#itemOf(resource, { amount: this.#deps.settings.prices[kind], description: resource.description });
    });
  }

  #packItems(): BazaarItem[] {
    return this.#deps.packs.all.flatMap(({ packId, class: kind, calls, amount }) => {
      const path = PACK_PATH.replace("{packId}", packId);
      return this.#itemOf({ path, tags: ["prepaid", kind] }, { amount, description: `${calls} ${kind} calls` });
    });
  }

  #itemOf({ path, tags }: Pick<PaidResource, "path" | "tags">, charge: Pick<Terms, "amount" | "description">) {
    const terms = this.#deps.termsFor(charge, path);
    return terms === undefined ? [] : [itemOf(terms, tags, this.#deps.startedAt)];
  }
}

function itemOf(terms: Terms, tags: readonly string[], startedAt: Date) {
  return {
    resource: terms.resource,
    type: "http",
    x402Version: 2,
    description: terms.description,
    mimeType: MIME_TYPE,
    serviceName: SERVICE_NAME,
    tags: [...tags],
    accepts: [requirementsV2(terms)],
    lastUpdated: startedAt.toISOString(),
  };
}
