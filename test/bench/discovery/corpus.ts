import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

import { z } from "zod";

import { CURRENCIES, PRICE_UNITS } from "../../../api/config/constants.ts";

/**
 * What a listing is there for. `hard-negative` shares words with others and offers something else; `squatting` is filed in
 * a category where it doesn't belong; `near-duplicate` repeats another listing of its seller.
 */
export const LISTING_KINDS = ["genuine", "hard-negative", "vague", "stuffed", "squatting", "near-duplicate"] as const;
/** What is difficult about a query. `keywords` has a few words and no sentence; `long` has some hundred characters. */
export const QUERY_KINDS = ["paraphrase", "keywords", "long", "typos", "vague", "other-language"] as const;
/** Weights are tuned with one half only; figures are those of the other. */
export const HALVES = ["tuning", "held-out"] as const;

const listing = z.strictObject({
  /** Unique among all files. */
  slug: z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/),
  seller: z.string(),
  kind: z.enum(LISTING_KINDS),
  /** Of a near-duplicate: the slug of the listing that it repeats. */
  duplicateOf: z.string().optional(),
  title: z.string(),
  description: z.string(),
  price: z.number(),
  priceUnit: z.enum(PRICE_UNITS),
  currency: z.enum(CURRENCIES).optional(),
});

const query = z.strictObject({
  query: z.string(),
  kind: z.enum(QUERY_KINDS),
  half: z.enum(HALVES),
  /**
   * By the listing's slug. 3 is what the buyer asks for, 2 would do, 1 helps a little or serves only some who ask in these
   * words. A listing that isn't named has 0. Near-duplicates aren't named: each counts as the listing that it repeats.
   */
  grades: z.record(z.string(), z.int().min(1).max(3)),
});

/** A listing of the bench, in the category that its file is named after. */
export type BenchListing = z.output<typeof listing> & { category: string };
/** A query of the bench, in the category where most of its answers are. */
export type BenchQuery = z.output<typeof query> & { category: string };

/** All listings, in the order of categories. */
export function loadListings(): BenchListing[] {
  return load("listings", listing);
}

/** All queries of both halves, in the order of categories. */
export function loadQueries(): BenchQuery[] {
  return load("queries", query);
}

function load<Shape extends z.ZodType<object>>(
  folder: string,
  shape: Shape,
): (z.output<Shape> & { category: string })[] {
  const path = join(import.meta.dirname, folder);
  return readdirSync(path)
    .sort()
    .flatMap((file) => {
      const rows = z.array(shape).parse(JSON.parse(readFileSync(join(path, file), "utf8")));
      return rows.map((row) => ({ ...row, category: basename(file, ".json") }));
    });
}
