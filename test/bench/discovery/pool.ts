// What is still to be judged: the first places of every ranker, in an order that doesn't say which of them found a listing.
import { MINILM_DIMENSIONS } from "../../../api/search/encoder/models.ts";
import type { SentenceEncoder } from "../../../api/search/embedding/encoder.ts";
import { UNGRADED_KINDS } from "./corpus.ts";
import type { BenchListing, BenchQuery } from "./corpus.ts";
import { vectorsRanker } from "./rankers.ts";
import type { Ranker } from "./rankers.ts";

/** As deep as nDCG@10 looks. */
export const JUDGED_DEPTH = 10;

/** The two models of the embedded encoder, each alone. */
export async function modelsAlone(listings: readonly BenchListing[], encoder: SentenceEncoder): Promise<Ranker[]> {
  const miniLM = await vectorsRanker(listings, async (text) => {
    const { vector } = await encoder.encode(text, { isEnglishAlone: true });
    return vector;
  });
  const multilingual = await vectorsRanker(listings, async (text, as) => {
    const { vector } = await encoder.encode(text, { as });
    return vector.subarray(MINILM_DIMENSIONS);
  });
  return [miniLM, multilingual];
}

/** The listings among a ranking's first ten that somebody has to judge, as far as nobody has. Adversarial ones take no place. */
export function unjudged(ranking: readonly string[], query: BenchQuery, listings: readonly BenchListing[]): string[] {
  const bySlug = new Map(listings.map((listing) => [listing.slug, listing]));
  return ranking
    .flatMap((slug) => bySlug.get(slug) ?? [])
    .filter(({ kind }) => kind !== "adversarial")
    .slice(0, JUDGED_DEPTH)
    .map(({ slug, kind, duplicateOf }) => bySlug.get(duplicateOf ?? slug) ?? { slug, kind })
    .filter(({ slug, kind }) => !UNGRADED_KINDS.includes(kind) && !(slug in query.grades) && !query.zeros.has(slug))
    .map(({ slug }) => slug);
}

/** A text for the judge: each query with the listings that nobody has judged for it, in the order of their slugs. */
export async function poolOf(
  rankers: readonly Ranker[],
  queries: readonly BenchQuery[],
  listings: readonly BenchListing[],
): Promise<string> {
  const titles = new Map(listings.map(({ slug, title }) => [slug, title]));
  const parts: string[] = [];
  for (const query of queries) {
    const rankings = await Promise.all(rankers.map((ranker) => ranker(query.query)));
    const slugs = new Set(rankings.flatMap((ranking) => unjudged(ranking, query, listings)));
    const lines = [...slugs].sort().map((slug) => `  ${slug}: ${titles.get(slug) ?? ""}`);
    if (lines.length > 0) parts.push([`${query.category}: ${query.query}`, ...lines].join("\n"));
  }
  return `${parts.join("\n\n")}\n`;
}
