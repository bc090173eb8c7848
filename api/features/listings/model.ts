import { Schema, Types } from "mongoose";
import type { Connection, Model } from "mongoose";

import { CURRENCIES, DELIVERY_TYPES, NETWORKS, PRICE_UNITS, SERVICE_STATUSES } from "../../config/constants.ts";
import type { Currency, Network } from "../../config/constants.ts";
import { embeddingSchema } from "../../search/embedding/stored-embedding.ts";
import type { StoredEmbedding } from "../../search/embedding/stored-embedding.ts";

export type PriceUnit = (typeof PRICE_UNITS)[number];
export type DeliveryType = (typeof DELIVERY_TYPES)[number];
export type ServiceStatus = (typeof SERVICE_STATUSES)[number];

/** A stored listing. */
export interface ListingRecord {
  /** Service id, `lst_…`; ids sort by time. */
  _id: string;
  sellerAgentId: string;
  /** Checksum form. */
  sellerAddress: `0x${string}`;
  /** Lower-case form of the seller's wallet, the key of its standings. */
  sellerKey: string;
  title: string;
  description: string;
  /** Child slug of the taxonomy. */
  category: string;
  /** Exact decimal in units of `currency`. */
  price: Types.Decimal128;
  priceUnit: PriceUnit;
  currency: Currency;
  deliveryType: DeliveryType;
  callbackRequired: boolean;
  endpointUrl: string | null;
  network: Network;
  status: ServiceStatus;
  /** Rises with every change. A write based on an older revision is refused. */
  revision: number;
  /** Null until the text is embedded. Until then search finds the listing only by its words. */
  embedding: StoredEmbedding | null;
  createdAt: Date;
  updatedAt: Date;
}

export type ListingModel = Model<ListingRecord>;

const required = { required: true } as const;

const listing = new Schema<ListingRecord>(
  {
    _id: { type: String, ...required },
    sellerAgentId: { type: String, ...required },
    sellerAddress: { type: String, ...required },
    sellerKey: { type: String, ...required },
    title: { type: String, ...required },
    description: { type: String, ...required },
    category: { type: String, ...required },
    price: { type: Types.Decimal128, ...required },
    priceUnit: { type: String, enum: PRICE_UNITS, ...required },
    currency: { type: String, enum: CURRENCIES, ...required },
    deliveryType: { type: String, enum: DELIVERY_TYPES, ...required },
    callbackRequired: { type: Boolean, ...required },
    endpointUrl: { type: String, default: null },
    network: { type: String, enum: NETWORKS, ...required },
    status: { type: String, enum: SERVICE_STATUSES, ...required },
    revision: { type: Number, ...required },
    embedding: { type: embeddingSchema, default: null },
    createdAt: { type: Date, ...required },
    updatedAt: { type: Date, ...required },
  },
  { versionKey: false, strict: "throw", collection: "listings" },
);
/*
 * Indexes for lists (see listingRanges in list.ts). A listing is rarely written and often listed. So each kind of list (all,
 * one category, one seller) has one index by age and one by price. No filter has its own index:
 * `status`, `network`, `currency` and `deliveryType` have 72 combinations. A list without some of these filters merges the
 * ranges of all their values in order. MongoDB merges at most 200 ranges, too few for all categories. The indexes by age
 * include the price, and those of a seller the category, so filtering by these reads index entries and no documents. For a
 * price filter in order of age, range-reader.ts chooses the index: by age if many listings match, by price if few do.
 */
const FACETS = { status: 1, network: 1, currency: 1, deliveryType: 1 } as const;
/** The indexes of each kind of list. */
const INDEXES = {
  all: { age: { ...FACETS, _id: -1, price: 1 }, price: { ...FACETS, price: 1, _id: 1 } },
  category: {
    age: { category: 1, ...FACETS, _id: -1, price: 1 },
    price: { category: 1, ...FACETS, price: 1, _id: 1 },
  },
  seller: {
    age: { sellerAgentId: 1, ...FACETS, _id: -1, price: 1, category: 1 },
    price: { sellerAgentId: 1, ...FACETS, price: 1, _id: 1, category: 1 },
  },
} as const;
for (const { age, price } of Object.values(INDEXES)) {
  listing.index(age);
  listing.index(price);
}
// For searches while the index of discovery is unavailable. Words of the title count twice, as in that index.
listing.index(
  { title: "text", description: "text" },
  { weights: { title: 2, description: 1 }, default_language: "english", partialFilterExpression: { status: "active" } },
);
// For listings to be embedded: those that aren't archived, without an embedding or with one of another model.
listing.index({ status: 1, "embedding.model": 1, _id: 1 });

/** The index by age or price of the lists that filter by these fields. */
export function indexOf(filter: { category?: unknown; sellerAgentId?: unknown }, order: "age" | "price") {
  const kind = filter.sellerAgentId !== undefined ? "seller" : filter.category !== undefined ? "category" : "all";
  return { ...INDEXES[kind][order] };
}

/** The collection of listings. */
export function listingModel(connection: Connection): ListingModel {
  return connection.model<ListingRecord>("Listing", listing);
}
