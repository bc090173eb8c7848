import type { Table } from "@lancedb/lancedb";

import type { Encoding } from "../embedding/encoder.ts";
import { cosine } from "../embedding/vectors.ts";
import { createCoverage } from "./coverage.ts";
import type { KnownRow, KnownRows } from "./known-rows.ts";
import { COLUMNS, findRows } from "./lance-rows.ts";
import type { FoundRow } from "./lance-rows.ts";
import { INDEXED_FROM } from "./lance-writes.ts";
import { byRelevance } from "./match.ts";
import type { Candidate, Found, Match } from "./match.ts";
import { EVEN_WORD_SCORE, NO_WORDS, computeRelevance, sumOf } from "./relevance.ts";
import type { TableSearch } from "./search-table.ts";
import type { TableFormat } from "./table-format.ts";
import { chooseVectorIndex, exactCloseness, hasVectorIndex } from "./vector-index.ts";

/**
 * How many parts of the vectors' index are searched, the nearest ones first; a part has about 4,000 vectors. Of a million generated
 * listings, with the queries of the bench, they had as many of the 50 nearest as all 244 parts did, and 20 parts had 2% fewer.
 * `minimumNprobes` with a greater maximum isn't used: the engine searches up to the maximum then, even if it has found enough.
 */
const NEAREST_PARTS = 40;
/** More than any index has. */
const ALL_PARTS = 100_000;
/** All parts of a table up to this size are searched: that many documents have hardly more parts than the nearest. */
export const WHOLE_UP_TO = 160_000;
/**
 * A row that is replaced or moved between finding and reading it makes a search start again, at most so many times in all. Then
 * it is missing from the answer, like one that was removed.
 */
const MOST_ATTEMPTS = 3;

/** A table with what is known of its rows. */
export interface TableWithRows {
  table: Table;
  rows: KnownRows;
  /** Up to how many documents all parts of the vectors' index are searched, and not the nearest ones alone. */
  wholeUpTo: number;
}

/** A search's request to the engine. */
type Wanted<Document extends { id: string }> = Pick<
  TableSearch<Document, never>,
  "format" | "query" | "limit" | "isExact"
> & { condition: string | undefined };

/** Documents that were found by meaning: the most that the cosine of one can be, by its row. */
interface FoundByMeaning {
  rows: ReadonlyMap<bigint, { closeness: number; factor: number }>;
  /** Upper bound for the cosine of every other document; 0 if there is none. */
  beyond: number;
}

/** Documents that were found by words: BM25 by row. */
interface FoundByWords {
  rows: ReadonlyMap<bigint, { score: number; factor: number }>;
  /** Upper bound for the score of every other document; 0 if there is none. */
  beyond: number;
  coverage: (words: string) => number;
}

/** Searches a table, see `SearchTable`. */
export async function searchTable<Document extends { id: string }, Filter>(
  source: TableWithRows,
  { answers, ...search }: TableSearch<Document, Filter> & { answers: number },
): Promise<Match<Document>[]> {
  return await findInTable(source, search, async ({ candidates, read }) => {
    const sorted = candidates.toSorted((left, right) => right.relevance - left.relevance);
    // By the document's id: a document that is written between the two searches has a row in each.
    const known = new Map<string, Match<Document>>();
    for (let position = 0; ; position += answers) {
      const best = [...known.values()].sort(byRelevance).slice(0, answers);
      const [next] = sorted.slice(position);
      if (next === undefined || next.relevance < (best[answers - 1]?.relevance ?? 0)) return best;
      const matches = await read(sorted.slice(position, position + answers));
      for (const match of matches) known.set(match.document.id, match);
    }
  });
}

/** Finds documents in a table, see `SearchTable`. */
export async function findInTable<Document extends { id: string }, Filter, Result>(
  source: TableWithRows,
  { filter, isNarrow = false, ...search }: TableSearch<Document, Filter>,
  work: (found: Found<Document>) => Promise<Result>,
): Promise<Result> {
  const { format, query } = search;
  const condition = format.toCondition(filter);
  const isEmpty = condition === null || (isNarrow && (await source.table.countRows(condition)) === 0);
  if (isEmpty) return await work({ candidates: [], beyond: 0, read: () => Promise.resolve([]) });
  for (let attempt = 1; ; attempt += 1) {
    const wanted = { ...search, condition };
    const [byMeaning, byWords] = await Promise.all([findByMeaning(source, wanted), findByWords(source, wanted)]);
    const encoding = await query.encoding;
    let missing = 0;
    const read = async (candidates: readonly Candidate[]): Promise<Match<Document>[]> => {
      const rows = await source.rows.read(
        format,
        candidates.map(({ id }) => id),
      );
      missing += candidates.length - rows.size;
      return compare(rows, { format, filter, encoding, byWords });
    };
    const result = await work({ ...bound(format, encoding, byMeaning, byWords), read });
    if (missing === 0 || attempt === MOST_ATTEMPTS) return result;
  }
}

/** How relevant documents can be at most that were found and not read; those that can't answer the query are left out. */
function bound<Document extends { id: string }>(
  format: TableFormat<Document, never>,
  encoding: Encoding | null,
  byMeaning: FoundByMeaning,
  byWords: FoundByWords,
): Pick<Found<Document>, "candidates" | "beyond"> {
  const relevanceOf = (closeness: number, score: number): number => {
    const match = score === 0 ? NO_WORDS : { score: wordScoreOf(format, score), coverage: 1 };
    const parts = computeRelevance(format.searched, encoding, closeness, match);
    return parts === undefined ? 0 : sumOf(parts);
  };
  const candidates: Candidate[] = [];
  for (const [id, { closeness, factor }] of byMeaning.rows) {
    const relevance = relevanceOf(closeness, byWords.rows.get(id)?.score ?? 0);
    if (relevance > 0) candidates.push({ id, relevance, factor });
  }
  for (const [id, { score, factor }] of byWords.rows) {
    if (byMeaning.rows.has(id)) continue;
    const relevance = relevanceOf(byMeaning.beyond, score);
    if (relevance > 0) candidates.push({ id, relevance, factor });
  }
  return { candidates, beyond: relevanceOf(byMeaning.beyond, byWords.beyond) };
}

/** Compares rows with the query: those that pass the filter and answer it. */
function compare<Document extends { id: string }, Filter>(
  rows: ReadonlyMap<bigint, KnownRow<Document>>,
  search: Pick<TableSearch<Document, Filter>, "format" | "filter"> & {
    encoding: Encoding | null;
    byWords: FoundByWords;
  },
): Match<Document>[] {
  const { format, filter, encoding, byWords } = search;
  // By the document's id: a document that is written between the two searches has a row in each.
  const matches = new Map<string, Match<Document>>();
  for (const [id, row] of rows) {
    const { vector } = row;
    const score = byWords.rows.get(id)?.score;
    const closeness = vector === null || encoding === null ? 0 : cosine(encoding.vector, vector);
    // Before it is parsed, which costs more.
    if (score === undefined && computeRelevance(format.searched, encoding, closeness, NO_WORDS) === undefined) continue;
    const document = row.document();
    // The engine's own numbers round; the filter decides.
    if (!format.passes(document, filter)) continue;
    const match =
      score === undefined ? NO_WORDS : { score: wordScoreOf(format, score), coverage: byWords.coverage(row.words()) };
    const parts = computeRelevance(format.searched, encoding, closeness, match);
    if (parts !== undefined) matches.set(document.id, { document, relevance: sumOf(parts), parts, vector });
  }
  return [...matches.values()];
}

function wordScoreOf<Document extends { id: string }>(format: TableFormat<Document, never>, score: number): number {
  return format.wordScore === "same" ? EVEN_WORD_SCORE : score;
}

/** The nearest vectors, most of them if there is an index of vectors. */
async function findByMeaning<Document extends { id: string }>(
  { table, wholeUpTo }: TableWithRows,
  { format, query, condition, limit, isExact = false }: Wanted<Document>,
): Promise<FoundByMeaning> {
  const { vector } = (await query.encoding) ?? {};
  if (vector === undefined) return { rows: new Map(), beyond: 0 };
  const [count, isIndexed] = isExact ? [0, false] : await Promise.all([table.countRows(), hasVectorIndex(table)]);
  // The engine would read the rows without a vector, too. Once there are more, they get an index.
  const isSparse = count >= INDEXED_FROM && !isIndexed;
  const conditions = [condition ?? [], isSparse ? COLUMNS.embedded : []].flat();
  const kind = chooseVectorIndex(vector.length);
  const nearest = (parts: number) => {
    let search = table.vectorSearch(vector).column(COLUMNS.vector).distanceType("cosine").nprobes(parts).limit(limit);
    if (kind.refineFactor !== undefined) search = search.refineFactor(kind.refineFactor);
    if (conditions.length > 0) search = search.where(conditions.map((each) => `(${each})`).join(" AND "));
    return findRows(isExact ? search.bypassVectorIndex() : search, "_distance", format.factor);
  };
  let found: FoundRow[] = [];
  if (count > wholeUpTo && !isSparse) found = await nearest(NEAREST_PARTS);
  // A narrow filter leaves too few documents in the nearest ones.
  if (found.length < limit) found = await nearest(ALL_PARTS);
  const closenessOf = isIndexed ? kind.mostCloseness : exactCloseness;
  const last = found[limit - 1];
  return {
    rows: new Map(found.map(({ id, measure, value }) => [id, { closeness: closenessOf(measure), factor: value }])),
    beyond: last === undefined ? 0 : closenessOf(last.measure),
  };
}

/** The rows whose words match best, by BM25. */
async function findByWords<Document extends { id: string }>(
  { table }: TableWithRows,
  { format, query: { text }, condition, limit }: Wanted<Document>,
): Promise<FoundByWords> {
  const stems = (await table.tokenize(text, { column: COLUMNS.words })).map((token) => token.text);
  const coverage = createCoverage(stems);
  // Without a word to look for, the engine would fail.
  if (stems.length === 0) return { rows: new Map(), beyond: 0, coverage };
  let best = table.query().fullTextSearch(text, { columns: COLUMNS.words }).limit(limit);
  if (condition !== undefined) best = best.where(condition);
  const found = await findRows(best, "_score", format.factor);
  return {
    rows: new Map(found.map(({ id, measure, value }) => [id, { score: measure, factor: value }])),
    beyond: found[limit - 1]?.measure ?? 0,
    coverage,
  };
}
