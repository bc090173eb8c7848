import { LANGUAGES, LISTING_KINDS, QUERY_KINDS } from "./corpus.ts";
import type { BenchListing, BenchQuery } from "./corpus.ts";
import { gradeOf, ndcg, recall, reciprocalRank, withoutRepeats } from "./measures.ts";
import type { Ranker } from "./rankers.ts";

const GAIN_DEPTH = 10;
const RECALL_DEPTH = 20;
const INTRUDER_DEPTH = 3;

type ListingKind = (typeof LISTING_KINDS)[number];
type QueryKind = (typeof QUERY_KINDS)[number];
type Language = (typeof LANGUAGES)[number];

/** How well a ranker answers some queries: means over the queries, 0 to 1. */
export interface Report {
  ndcg10: number;
  mrr: number;
  recall20: number;
  /** nDCG@10 by kind of query. */
  byKind: Partial<Record<QueryKind, number>>;
  /** nDCG@10 of the foreign queries by language. */
  byLanguage: Partial<Record<Language, number>>;
  /**
   * By kind of listing, how many queries have one among their first three that doesn't serve them (grade 0), or, of
   * near-duplicates, one that repeats a listing above it.
   */
  intruders: Partial<Record<ListingKind, number>>;
  /** How many queries have a listing among their first three that repeats one above it. */
  repeats: number;
}

interface Answer {
  query: BenchQuery;
  ndcg: number;
  reciprocalRank: number;
  recall: number;
  intruders: ReadonlySet<ListingKind>;
  repeats: boolean;
}

/** Asks a ranker every query and measures its answers. */
export async function reportOf(
  ranker: Ranker,
  queries: readonly BenchQuery[],
  listings: readonly BenchListing[],
): Promise<Report> {
  const bySlug = new Map(listings.map((listing) => [listing.slug, listing]));
  const answers: Answer[] = [];
  for (const query of queries) {
    const found = await ranker(query.query);
    const ranking = withoutRepeats(found, (slug) => bySlug.get(slug)?.duplicateOf ?? slug);
    const intruders = ranking.slice(0, INTRUDER_DEPTH).flatMap((slug, index) => {
      if (gradeOf(slug, query.grades) > 0) return [];
      return slug === null ? ["near-duplicate" as const] : (bySlug.get(found[index] ?? slug)?.kind ?? []);
    });
    answers.push({
      query,
      ndcg: ndcg(ranking, query.grades, GAIN_DEPTH),
      reciprocalRank: reciprocalRank(ranking, query.grades),
      recall: recall(ranking, query.grades, RECALL_DEPTH),
      intruders: new Set(intruders),
      repeats: ranking.slice(0, INTRUDER_DEPTH).includes(null),
    });
  }
  return summaryOf(answers);
}

function summaryOf(answers: readonly Answer[]): Report {
  const meansOf = <Name extends string>(names: readonly Name[], nameOf: (query: BenchQuery) => string | undefined) => {
    const means: Partial<Record<Name, number>> = {};
    for (const name of names) {
      const some = answers.filter(({ query }) => nameOf(query) === name);
      if (some.length > 0) means[name] = mean(some.map((answer) => answer.ndcg));
    }
    return means;
  };
  const intruders: Report["intruders"] = {};
  for (const kind of LISTING_KINDS) {
    if (kind !== "genuine") intruders[kind] = answers.filter((answer) => answer.intruders.has(kind)).length;
  }
  return {
    ndcg10: mean(answers.map((answer) => answer.ndcg)),
    mrr: mean(answers.map((answer) => answer.reciprocalRank)),
    recall20: mean(answers.map((answer) => answer.recall)),
    byKind: meansOf(QUERY_KINDS, ({ kind }) => kind),
    byLanguage: meansOf(LANGUAGES, ({ language }) => language),
    intruders,
    repeats: answers.filter((answer) => answer.repeats).length,
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
