import BigNumber from "bignumber.js";
import type { QueryFilter } from "mongoose";

import { toListing } from "./listing.ts";
import type { Listing } from "./listing.ts";
import { indexOf } from "./model.ts";
import type { ListingModel, ListingRecord } from "./model.ts";
import type { ListingSort } from "./schemas.ts";

/** A part of a list that the database reads as one index range, or as a few merged ones. */
export interface ListingRange {
  filter: QueryFilter<ListingRecord>;
  order: Record<string, 1 | -1>;
  /** Conditions that almost every listing meets, on fields that no index has. */
  also: QueryFilter<ListingRecord>;
}

/** The first listings of a list in its order. */
export interface RangesRead {
  listings: Listing[];
  /** Id of the last listing read, if there may be more matches after it; undefined if the limit or the end was reached. */
  readTo: string | undefined;
}

/**
 * Maximum index entries that a list by age with a price filter reads from each range. No index has both the order by age
 * and the range of prices, so the filter may discard most entries of either.
 */
const READ_AT_MOST = 5_000;

const byId = (left: Listing, right: Listing): number => (left.id < right.id ? -1 : 1);
const byPrice = (left: Listing, right: Listing): number =>
  new BigNumber(left.price).comparedTo(right.price) || byId(left, right);

/** The orders of the database, for merging listings from several ranges. */
const COMPARE: Readonly<Record<ListingSort, (left: Listing, right: Listing) => number>> = {
  newest: (left, right) => byId(right, left),
  oldest: byId,
  price_asc: byPrice,
  price_desc: (left, right) => byPrice(right, left),
  relevance: (left, right) => byId(right, left),
};

/** Reads the first listings of several ranges in sort order. */
export async function readRanges(
  model: ListingModel,
  ranges: readonly ListingRange[],
  sort: ListingSort,
  limit: number,
): Promise<RangesRead> {
  const compare = COMPARE[sort];
  const parts = await Promise.all(ranges.map((range) => readRange(model, range, limit)));
  const cutIds = parts.flatMap(({ readTo }) => readTo ?? []).sort();
  // Past the point where the first range was cut, its listings would be missing among those of the others.
  const readTo = sort === "oldest" ? cutIds.at(0) : cutIds.at(-1);
  const isRead = ({ id }: Listing) => readTo === undefined || (sort === "oldest" ? id <= readTo : id >= readTo);
  const listings = parts
    .flatMap((part) => part.listings)
    .filter(isRead)
    .sort(compare)
    .slice(0, limit);
  return { listings, readTo: listings.length < limit ? readTo : undefined };
}

async function readRange(model: ListingModel, range: ListingRange, limit: number): Promise<RangesRead> {
  const plan = await planRead(model, range);
  const records = await model
    .find({ ...plan.filter, ...range.also }, { embedding: 0 })
    .sort(range.order)
    .limit(limit)
    .hint(plan.hint)
    .lean();
  return { listings: records.map(toListing), readTo: records.length < limit ? plan.readTo : undefined };
}

/** The plan to read a range. */
interface RangePlan {
  filter: ListingRange["filter"];
  /** The index to read. MongoDB would take another one at times, and read every match. */
  hint: Record<string, 1 | -1>;
  /** Id at which reading ends, if before the end of the range. */
  readTo: string | undefined;
}

/**
 * Chooses the index of a range. A list by age with a price filter reads all matches by price if they are few. If they are
 * many, it reads at most `READ_AT_MOST` entries by age.
 */
async function planRead(model: ListingModel, { filter, order }: Omit<ListingRange, "also">): Promise<RangePlan> {
  if (!isPricedByAge({ filter, order })) {
    return { filter, hint: indexOf(filter, "price" in order ? "price" : "age"), readTo: undefined };
  }
  const read = { ...filter };
  // The indexes of a seller end with the category, so a filter by it also discards entries.
  if (filter.sellerAgentId !== undefined) delete read.category;
  const byPriceIndex = indexOf(filter, "price");
  if ((await model.countDocuments(read, { limit: READ_AT_MOST, hint: byPriceIndex })) < READ_AT_MOST) {
    return { filter, hint: byPriceIndex, readTo: undefined };
  }
  const hint = indexOf(filter, "age");
  const facets = { ...read };
  delete facets.price;
  const end = await model
    .findOne(facets, { _id: 1 })
    .sort(order)
    .skip(READ_AT_MOST - 1)
    .hint(hint)
    .lean();
  if (end === null) return { filter, hint, readTo: undefined };
  const upToEnd = order["_id"] === 1 ? { $lte: end._id } : { $gte: end._id };
  return { filter: { ...filter, _id: { ...(filter._id as object | undefined), ...upToEnd } }, hint, readTo: end._id };
}

/** Whether a range needs a plan. Not for listings at one price after a position: an index by price has them in order. */
function isPricedByAge({ filter: { price }, order }: Omit<ListingRange, "also">): boolean {
  return price !== undefined && !("price" in order) && !("$eq" in (price as object));
}
