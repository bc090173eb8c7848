import { categoryWords } from "../../../api/features/listings/listing.ts";
import { searchTerm, splitWords } from "../../../api/search/embedding/words.ts";
import type { BenchListing } from "./corpus.ts";

/** Share of a query's different content words, stemmed, that a listing has too. */
export function overlapOf(query: string, { title, description, category }: BenchListing): number {
  return overlapWith(query, `${title} ${description} ${categoryWords(category)}`);
}

/** The same of any text. */
export function overlapWith(query: string, text: string): number {
  const asked = termsOf(query);
  const offered = termsOf(text);
  return [...asked].filter((term) => offered.has(term)).length / asked.size;
}

function termsOf(text: string): Set<string> {
  return new Set(splitWords(text).flatMap((word) => searchTerm(word) ?? []));
}
