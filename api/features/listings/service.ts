import BigNumber from "bignumber.js";
import { Types } from "mongoose";
import type { z } from "zod";

import { ApiError, validationError } from "../../http/errors.ts";
import type { Caller } from "../../http/define-route.ts";
import type { Clock } from "../../lib/clock.ts";
import { newId } from "../../lib/ids.ts";
import { searchTextOf, toListing } from "./listing.ts";
import type { Listing } from "./listing.ts";
import type { ListingModel, ListingRecord, StoredEmbedding } from "./model.ts";
import { exactDecimal, priceFault } from "./price.ts";
import type { createListingBody, patchListingBody } from "./schemas.ts";

export type NewListing = z.output<typeof createListingBody>;
export type ListingPatch = z.output<typeof patchListingBody>;

/** Turns a listing's text into what search by meaning compares. */
export interface ListingEmbedder {
  /** Null when that cannot be done at the moment: the listing is stored all the same and embedded by a job. */
  embed(text: string): Promise<StoredEmbedding | null>;
}

/** Listings of services (specification 2.2 and 3.3). */
export interface ListingService {
  create(seller: Caller, listing: NewListing): Promise<Listing>;
  /** @throws ApiError `not_found` */
  get(id: string): Promise<Listing>;
  /** @throws ApiError `not_found`, `wrong_role`, `service_archived`, `validation_error` */
  change(seller: Caller, id: string, patch: ListingPatch): Promise<Listing>;
  /** Delists for good. @throws ApiError `not_found`, `wrong_role`, `service_archived` */
  archive(seller: Caller, id: string): Promise<Listing>;
}

/** What the service needs. */
export interface ListingServiceDeps {
  listings: ListingModel;
  embedder: ListingEmbedder;
  clock: Clock;
}

/** A change that lost against another one is tried again on what that one left; so often at most. */
const CHANGE_ATTEMPTS = 5;

/** The listings of the database. */
export function createListingService({ listings, embedder, clock }: ListingServiceDeps): ListingService {
  async function find(id: string): Promise<ListingRecord> {
    const record = await listings.findById(id).lean();
    if (record === null) throw new ApiError("not_found", { details: { serviceId: id } });
    return record;
  }

  async function findChangeable(seller: Caller, id: string): Promise<ListingRecord> {
    const record = await find(id);
    if (record.sellerAgentId !== seller.agentId) throw new ApiError("wrong_role", { details: { needed: "seller" } });
    if (record.status === "archived") throw new ApiError("service_archived");
    return record;
  }

  /** Writes a change on the revision it was made from; undefined when another change came first. */
  async function write(record: ListingRecord, change: Partial<ListingRecord>): Promise<Listing | undefined> {
    const written = await listings
      .findOneAndUpdate(
        { _id: record._id, revision: record.revision },
        { $set: { ...change, updatedAt: clock.now() }, $inc: { revision: 1 } },
        { returnDocument: "after" },
      )
      .lean();
    return written === null ? undefined : toListing(written);
  }

  async function changeUntilWritten(
    seller: Caller,
    id: string,
    changeOf: (record: ListingRecord) => Promise<Partial<ListingRecord>>,
  ): Promise<Listing> {
    for (let attempt = 1; attempt <= CHANGE_ATTEMPTS; attempt += 1) {
      const record = await findChangeable(seller, id);
      const listing = await write(record, await changeOf(record));
      if (listing !== undefined) return listing;
    }
    throw new ApiError("service_unavailable", { retryAfterSeconds: 1 });
  }

  return {
    async create(seller, { price, ...fields }) {
      const now = clock.now();
      const record: ListingRecord = {
        ...fields,
        _id: newId("lst", now),
        sellerAgentId: seller.agentId,
        sellerAddress: seller.walletAddress,
        sellerKey: seller.walletAddress.toLowerCase(),
        price: toDecimal128(exactDecimal(price)),
        status: "active",
        revision: 1,
        embedding: await embedder.embed(searchTextOf(fields)),
        createdAt: now,
        updatedAt: now,
      };
      await listings.create([record]);
      return toListing(record);
    },

    async get(id) {
      return toListing(await find(id));
    },

    change: (seller, id, patch) =>
      changeUntilWritten(seller, id, async (record) => {
        const { price, ...fields } = patch;
        const change: Partial<ListingRecord> = { ...fields };
        if (price !== undefined || patch.currency !== undefined) change.price = checkedPrice(record, patch);
        const isTextChanged = [patch.title, patch.description, patch.category].some((text) => text !== undefined);
        if (isTextChanged) change.embedding = await embedder.embed(searchTextOf({ ...record, ...fields }));
        return change;
      }),

    archive: (seller, id) => changeUntilWritten(seller, id, () => Promise.resolve({ status: "archived" })),
  };
}

/** The price after a change of price or currency; each may make the other wrong. */
function checkedPrice(record: ListingRecord, { price, currency }: ListingPatch): Types.Decimal128 {
  const next = price === undefined ? new BigNumber(record.price.toString()) : exactDecimal(price);
  const fault = priceFault(next, currency ?? record.currency);
  if (fault !== undefined)
    throw validationError([{ path: price === undefined ? "body.currency" : "body.price", message: fault }]);
  return toDecimal128(next);
}

function toDecimal128(value: BigNumber): Types.Decimal128 {
  return Types.Decimal128.fromString(value.toFixed());
}
