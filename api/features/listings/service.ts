import BigNumber from "bignumber.js";
import { Types } from "mongoose";
import type { Connection } from "mongoose";
import type { z } from "zod";

import { isDuplicateKey, withTransaction } from "../../db/connection.ts";
import { ApiError, validationError } from "../../http/errors.ts";
import type { Caller } from "../../http/define-route.ts";
import type { Operation } from "../../http/operation.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Moderation } from "../agents/moderation.ts";
import type { TradeGate } from "../agents/trade-gate.ts";
import { askedOf } from "../intents/intents.ts";
import type { Intent, Intents } from "../intents/intents.ts";
import { searchTextOf, toListing } from "./listing.ts";
import type { Listing } from "./listing.ts";
import type { ListingModel, ListingRecord } from "./model.ts";
import type { StoredEmbedding } from "../../search/embedding/stored-embedding.ts";
import { exactDecimal, priceFault } from "./price.ts";
import type { createListingBody, patchListingBody } from "./schemas.ts";

export type NewListing = z.output<typeof createListingBody>;
export type ListingPatch = z.output<typeof patchListingBody>;

/** Embeds a listing's text for semantic search. */
export interface ListingEmbedder {
  /**
   * Embeds a text. Returns null if that isn't possible now: the listing is stored anyway, and a job embeds it later.
   * @param seller the agent whose daily share of tokens the text counts towards
   */
  embed(text: string, seller: { spender: string }): Promise<StoredEmbedding | null>;
}

/** Dependencies of the listing service. */
export interface ListingServiceDeps {
  connection: Connection;
  intents: Intents;
  listings: ListingModel;
  embedder: ListingEmbedder;
  clock: Clock;
  gate: Pick<TradeGate, "standing">;
}

/** A stored listing without its embedding, which is larger than the rest and needed only by the search index. */
type StoredListing = Omit<ListingRecord, "embedding">;

/** Attempts of a change when concurrent changes keep winning. */
const CHANGE_ATTEMPTS = 5;

/** Creates, reads, changes and archives listings of services. */
export class ListingService {
  readonly #deps: ListingServiceDeps;

  constructor(deps: ListingServiceDeps) {
    this.#deps = deps;
  }

  /** Lists a service, once for each intent. @throws ApiError `intent_conflict` */
  async create(seller: Caller, { intentId, ...asked }: NewListing, operation: Operation): Promise<Listing> {
    const { price, ...fields } = asked;
    const intent: Intent | undefined =
      intentId === undefined
        ? undefined
        : { agentId: seller.agentId, intentId, kind: "listing", asked: askedOf(asked) };
    const listed = await this.#listedFor(intent);
    if (listed !== undefined) return toListing(listed);
    const now = this.#deps.clock.now();
    const id = operation.newId("lst", now);
    const earlier = operation.isRepeat ? await this.#deps.listings.findById(id).lean() : null;
    if (earlier !== null) return toListing(earlier);
    const record: ListingRecord = {
      ...fields,
      _id: id,
      sellerAgentId: seller.agentId,
      sellerAddress: seller.walletAddress,
      sellerKey: seller.walletAddress.toLowerCase(),
      price: toDecimal128(exactDecimal(price)),
      status: "active",
      revision: 1,
      embedding: await this.#deps.embedder.embed(searchTextOf(fields), { spender: seller.agentId }),
      createdAt: now,
      updatedAt: now,
    };
    try {
      const suspension = await this.#store(record, intent);
      return toListing(suspension === undefined ? record : { ...record, suspension });
    } catch (error) {
      // Another process ran the same operation, or a request for the same intent, while this one was paused.
      if (!isDuplicateKey(error, "_id")) throw error;
      return toListing((await this.#listedFor(intent)) ?? (await this.#find(id)));
    }
  }

  /**
   * Stores a listing, and takes its intent in the same transaction. A duplicate key if either exists. One of a suspended seller
   * is hidden from the start.
   * @returns the decision that suspends the seller
   */
  async #store(record: ListingRecord, intent: Intent | undefined): Promise<Moderation | undefined> {
    const { connection, intents, listings, gate } = this.#deps;
    return withTransaction(connection, async (session) => {
      if (intent !== undefined) await intents.claim(intent, record._id, record.createdAt, session);
      const suspension = await gate.standing(record.sellerAgentId, session);
      await listings.create([{ ...record, ...(suspension === undefined ? {} : { suspension }) }], { session });
      return suspension;
    });
  }

  /** The listing of an intent; undefined if there is none yet. @throws ApiError `intent_conflict` */
  async #listedFor(intent: Intent | undefined): Promise<StoredListing | undefined> {
    if (intent === undefined) return undefined;
    return this.#deps.intents.recordOf(intent, (id) => this.#deps.listings.findById(id, { embedding: 0 }).lean());
  }

  /** @throws ApiError `not_found` */
  async get(id: string): Promise<Listing> {
    return toListing(await this.#find(id));
  }

  /** A listing as an agent may read it: a hidden one exists for its seller alone. @throws ApiError `not_found` */
  async read(reader: Caller, id: string): Promise<Listing> {
    const listing = await this.get(id);
    if (listing.moderation === undefined || listing.sellerAgentId === reader.agentId) return listing;
    throw new ApiError("not_found", { details: { serviceId: id } });
  }

  /** @throws ApiError `not_found`, `wrong_role`, `service_archived`, `validation_error` */
  change(seller: Caller, id: string, patch: ListingPatch): Promise<Listing> {
    return this.#changeUntilWritten(seller, id, async (record) => {
      const { price, ...fields } = patch;
      const change: Partial<ListingRecord> = { ...fields };
      if (price !== undefined || patch.currency !== undefined) change.price = checkedPrice(record, patch);
      const isTextChanged = [patch.title, patch.description, patch.category].some((text) => text !== undefined);
      if (isTextChanged) {
        change.embedding = await this.#deps.embedder.embed(searchTextOf({ ...record, ...fields }), {
          spender: seller.agentId,
        });
      }
      return change;
    });
  }

  /** Archives permanently. @throws ApiError `not_found`, `wrong_role`, `service_archived` */
  async archive(seller: Caller, id: string, operation: Operation): Promise<Listing> {
    if (operation.isRepeat) {
      const record = await this.#find(id);
      if (record.sellerAgentId === seller.agentId && record.status === "archived") return toListing(record);
    }
    return this.#changeUntilWritten(seller, id, () => Promise.resolve({ status: "archived" }));
  }

  async #find(id: string): Promise<StoredListing> {
    const record = await this.#deps.listings.findById(id, { embedding: 0 }).lean();
    if (record === null) throw new ApiError("not_found", { details: { serviceId: id } });
    return record;
  }

  async #findChangeable(seller: Caller, id: string): Promise<StoredListing> {
    const record = await this.#find(id);
    if (record.sellerAgentId !== seller.agentId) throw new ApiError("wrong_role", { details: { needed: "seller" } });
    if (record.status === "archived") throw new ApiError("service_archived");
    return record;
  }

  /** Writes a change to the revision that it was based on; undefined if another change came first. */
  async #write(record: StoredListing, change: Partial<ListingRecord>): Promise<Listing | undefined> {
    const written = await this.#deps.listings
      .findOneAndUpdate(
        { _id: record._id, revision: record.revision },
        { $set: { ...change, updatedAt: this.#deps.clock.now() }, $inc: { revision: 1 } },
        { returnDocument: "after" },
      )
      .lean();
    return written === null ? undefined : toListing(written);
  }

  async #changeUntilWritten(
    seller: Caller,
    id: string,
    changeOf: (record: StoredListing) => Promise<Partial<ListingRecord>>,
  ): Promise<Listing> {
    for (let attempt = 1; attempt <= CHANGE_ATTEMPTS; attempt += 1) {
      const record = await this.#findChangeable(seller, id);
      const listing = await this.#write(record, await changeOf(record));
      if (listing !== undefined) return listing;
    }
    throw new ApiError("service_unavailable", { retryAfterSeconds: 1 });
  }
}

/** Checks the price after a change of price or currency, because each can make the other invalid. */
function checkedPrice(record: StoredListing, { price, currency }: ListingPatch): Types.Decimal128 {
  const next = price === undefined ? new BigNumber(record.price.toString()) : exactDecimal(price);
  const fault = priceFault(next, currency ?? record.currency);
  if (fault !== undefined)
    throw validationError([{ path: price === undefined ? "body.currency" : "body.price", message: fault }]);
  return toDecimal128(next);
}

function toDecimal128(value: BigNumber): Types.Decimal128 {
  return Types.Decimal128.fromString(value.toFixed());
}
