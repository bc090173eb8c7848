import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

import { z } from "zod";

import { CURRENCIES, PRICE_UNITS } from "../../../api/config/constants.ts";

/**
 * What a listing is there for. `hard-negative` shares words with others and offers something else; `squatting` is filed in
 * a category where it doesn't belong; `near-duplicate` repeats another listing of its seller; `adversarial` is written for the
 * ranking or against the buyer: orders to a model, buyers' questions, another seller's text, hidden words, made-up trust.
 */
export const LISTING_KINDS = [
  "genuine",
  "hard-negative",
  "vague",
  "stuffed",
  "squatting",
  "near-duplicate",
  "adversarial",
] as const;
/** These listings serve no buyer, whatever he asks for. A near-duplicate counts as the listing that it repeats. */
export const UNGRADED_KINDS: readonly (typeof LISTING_KINDS)[number][] = [
  "vague",
  "stuffed",
  "near-duplicate",
  "adversarial",
];
/**
 * What is difficult about a query. `keywords` has a few words and no sentence; `long` has some hundred characters; `foreign` is in
 * one of `LANGUAGES`; `agent` is as programs write: JSON, calls of tools, units, long descriptions of a task.
 */
export const QUERY_KINDS = [
  "paraphrase",
  "keywords",
  "long",
  "typos",
  "vague",
  "other-language",
  "foreign",
  "agent",
] as const;
/** Languages of the foreign queries. */
export const LANGUAGES = ["es", "de", "fr", "zh", "ja"] as const;
/** Kinds that the first bench didn't have. */
const LATER_QUERY_KINDS: readonly string[] = ["foreign", "agent"];
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

const gradesBySlug = z.record(z.string(), z.int().min(1).max(3));
const query = z
  .strictObject({
    query: z.string(),
    kind: z.enum(QUERY_KINDS),
    /** Of a foreign query. */
    language: z.enum(LANGUAGES).optional(),
    half: z.enum(HALVES),
    /**
     * By the listing's slug. 3 is what the buyer asks for, 2 would do, 1 helps a little or serves only some who ask in these
     * words. A listing that isn't named has 0. Near-duplicates aren't named: each counts as the listing that it repeats.
     */
    grades: gradesBySlug,
    /** Of a query of the first bench: what it got when the first ten of every ranker were judged. */
    laterGrades: gradesBySlug.default({}),
    /** Slugs, with a space between two, of the listings that were read for the query and have 0. */
    zeros: z.string().default(""),
  })
  .transform(({ grades, laterGrades, zeros, ...rest }) => ({
    ...rest,
    grades: { ...grades, ...laterGrades },
    /** As first judged, with the first ten of the encoder of that time in view. */
    firstGrades: grades,
    zeros: new Set(zeros.split(" ").filter(Boolean)),
  }));

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

/** The bench as it was before adversarial listings, and foreign and agents' queries; with the grades of today. */
export function firstBench(listings: readonly BenchListing[], queries: readonly BenchQuery[]) {
  return {
    listings: listings.filter(({ kind }) => kind !== "adversarial"),
    queries: queries.filter(({ kind }) => !LATER_QUERY_KINDS.includes(kind)),
  };
}

/** The queries with the grades that they first had. */
export function asFirstJudged(queries: readonly BenchQuery[]): BenchQuery[] {
  return queries.map((one) => ({ ...one, grades: one.firstGrades }));
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
