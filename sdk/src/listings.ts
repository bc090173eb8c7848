import { segment } from "./arguments.ts";
import type * as wire from "./generated/api-types.ts";
import type { CallOptions, CreateOptions, Http } from "./http.ts";
import { paginate } from "./pagination.ts";
import type { Page } from "./pagination.ts";
import type { FoundListing, Listing, Visibility, WrittenListing } from "./records.ts";

/** Fields of a new listing. `price` is in units of `currency` per `priceUnit`. */
export type NewListing = wire.ListingsCreateData["body"];
/** Fields of a listing that its seller may change. */
export type ListingChanges = NonNullable<wire.ListingsUpdateData["body"]>;
/** Filters of a list of listings. */
export type ListingFilter = Omit<NonNullable<wire.ListingsListData["query"]>, "cursor">;

const PATH = "/api/v1/services";
const pathOf = (id: string): string => `${PATH}/${segment("id", id)}`;

/** Services on offer. All errors are `ApiError`, `NetworkError` and `TimeoutError`. */
export class Listings {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Offers a service. Search finds it within a minute. `warnings` of the result says why nobody can buy it as it is.
   * With an `intentId` a repeat returns the same listing, also days later. Errors: `validation_error`, `intent_conflict`.
   */
  async create(listing: NewListing, options: CreateOptions = {}): Promise<WrittenListing> {
    const once = { idempotencyKey: crypto.randomUUID(), ...options };
    const { data, warnings } = await this.#http.post<wire.ListingsCreateResponse>(PATH, listing, once);
    return { ...data, warnings };
  }

  /** Errors: `not_found`. */
  async get(id: string, options: CallOptions = {}): Promise<Listing> {
    return (await this.#http.get<wire.ListingsReadResponse>(pathOf(id), options)).data;
  }

  /** Changes a listing of the agent. Errors: `not_found`, `wrong_role`, `service_archived`, `validation_error`. */
  async update(id: string, changes: ListingChanges, options: CallOptions = {}): Promise<WrittenListing> {
    const request = { method: "PATCH", path: pathOf(id), body: changes, isIdempotent: true, ...options } as const;
    const { data, warnings } = (await this.#http.send<wire.ListingsUpdateResponse>(request)).body;
    return { ...data, warnings };
  }

  /** Hides a listing from search until `resume`. Same errors as `update`. */
  pause(id: string, options: CallOptions = {}): Promise<WrittenListing> {
    return this.update(id, { status: "paused" }, options);
  }

  /** Shows a paused listing again. Same errors as `update`. */
  resume(id: string, options: CallOptions = {}): Promise<WrittenListing> {
    return this.update(id, { status: "active" }, options);
  }

  /** Archives a listing permanently. Errors: `not_found`, `wrong_role`, `service_archived`. */
  async archive(id: string, options: CallOptions = {}): Promise<Listing> {
    const request = { method: "DELETE", path: pathOf(id), ...options } as const;
    return (await this.#http.send<wire.ListingsArchiveResponse>(request)).body.data;
  }

  /**
   * Says how discover finds an active listing of the agent for a query, why, and what would help. It counts as a search.
   * Errors: `not_found`, `wrong_role`, `service_not_active`, `listing_hidden`.
   */
  async visibility(id: string, query: string, options: CallOptions = {}): Promise<Visibility> {
    const request = { isIdempotent: true, ...options };
    return (await this.#http.post<wire.ListingsCheckVisibilityResponse>(`${pathOf(id)}/visibility`, { query }, request))
      .data;
  }

  /** Lists or searches (`q`) page by page. */
  list(filter: ListingFilter = {}, options: CallOptions = {}): AsyncGenerator<FoundListing, void, undefined> {
    return paginate((cursor) => this.#http.get<Page<FoundListing>>(PATH, { query: { ...filter, cursor }, ...options }));
  }
}
