import type { Connection, Model } from "mongoose";

import { CURRENCIES, DELIVERY_TYPES, NETWORKS, PRICE_UNITS, SERVICE_STATUSES } from "../../config/constants.ts";
import { collection, date, decimal, flag, nullable, number, oneOf, text, textOf, optional } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";
import { moderationPart } from "../agents/moderation.ts";
import { embedding } from "../../search/embedding/stored-embedding.ts";

export type PriceUnit = (typeof PRICE_UNITS)[number];
export type DeliveryType = (typeof DELIVERY_TYPES)[number];
export type ServiceStatus = (typeof SERVICE_STATUSES)[number];

/** A stored listing. */
const listingFields = {
  /** Service id, `lst_…`; ids sort by time. */
  _id: text,
  sellerAgentId: text,
  /** Checksum form. */
  sellerAddress: textOf<`0x${string}`>(),
  /** Lower-case form of the seller's wallet, the key of its standings. */
  sellerKey: text,
  title: text,
  description: text,
  /** Child slug of the taxonomy. */
  category: text,
  /** Exact decimal in units of `currency`. */
  price: decimal,
  priceUnit: oneOf(PRICE_UNITS),
  currency: oneOf(CURRENCIES),
  deliveryType: oneOf(DELIVERY_TYPES),
  callbackRequired: flag,
  endpointUrl: nullable(text),
  network: oneOf(NETWORKS),
  status: oneOf(SERVICE_STATUSES),
  /** Rises with every change. A write based on an older revision is refused. */
  revision: number,
  /** Null until the text is embedded. Until then search finds the listing only by its words. */
  embedding: nullable(embedding),
  /** The operator's decision that hides the listing; missing unless it is hidden. */
  moderation: optional(moderationPart),
  /** The decision that suspends its seller; missing unless one does. */
  suspension: optional(moderationPart),
  createdAt: date,
  updatedAt: date,
};
export type ListingRecord = RecordOf<typeof listingFields>;
export type ListingModel = Model<ListingRecord>;

/** The listings that no decision of an operator hides. Few are hidden, so the indexes of lists don't have these fields. */
export const SHOWN = { moderation: { $exists: false }, suspension: { $exists: false } };
/** The others. */
export const WITHHELD = {
  $or: [{ "moderation.decisionId": { $exists: true } }, { "suspension.decisionId": { $exists: true } }],
};

/*
 * Indexes for lists (see listingRanges in list.ts). A listing is rarely written and often listed. So each kind of list (all,
 * one category, one seller) has one index by age and one by price. No filter has its own index:
 * `status`, `network`, `currency` and `deliveryType` have 72 combinations. A list without some of these filters merges the
 * ranges of all their values in order. MongoDB merges at most 200 ranges, too few for all categories. The indexes by age
 * include the price, and those of a seller the category, so filtering by these reads index entries and no documents. That of
 * all listings includes the seller for the site map. For a
 * price filter in order of age, range-reader.ts chooses the index: by age if many listings match, by price if few do.
 */
const FACETS = { status: 1, network: 1, currency: 1, deliveryType: 1 } as const;
/** The indexes of each kind of list. */
const INDEXES = {
  all: { age: { ...FACETS, _id: -1, price: 1, sellerKey: 1 }, price: { ...FACETS, price: 1, _id: 1 } },
  category: {
    age: { category: 1, ...FACETS, _id: -1, price: 1 },
    price: { category: 1, ...FACETS, price: 1, _id: 1 },
  },
  seller: {
    age: { sellerAgentId: 1, ...FACETS, _id: -1, price: 1, category: 1 },
    price: { sellerAgentId: 1, ...FACETS, price: 1, _id: 1, category: 1 },
  },
} as const;
/** The index by age or price of the lists that filter by these fields. */
export function indexOf(filter: { category?: unknown; sellerAgentId?: unknown }, order: "age" | "price") {
  const kind = filter.sellerAgentId !== undefined ? "seller" : filter.category !== undefined ? "category" : "all";
  return { ...INDEXES[kind][order] };
}

/** The collection of listings. */
export function listingModel(connection: Connection): ListingModel {
  return collection(connection, "Listing", "listings", listingFields, [
    ...Object.values(INDEXES).flatMap(({ age, price }) => [[age] as const, [price] as const]),
    // For searches while the index of discovery is unavailable. Words of the title count twice, as in that index.
    [
      { title: "text", description: "text" },
      {
        weights: { title: 2, description: 1 },
        default_language: "english",
        partialFilterExpression: { status: "active" },
      },
    ],
    // For those that are hidden, which are few.
    [{ "moderation.decisionId": 1 }, { partialFilterExpression: { "moderation.decisionId": { $exists: true } } }],
    [{ "suspension.decisionId": 1 }, { partialFilterExpression: { "suspension.decisionId": { $exists: true } } }],
    // For listings to be embedded: those that aren't archived, without an embedding or with one of another model, the newest first.
    [{ status: 1, "embedding.model": 1, updatedAt: -1 }],
  ]);
}
