import type { Table } from "@lancedb/lancedb";

import { cosine } from "../embedding/vectors.ts";
import { createCoverage } from "./coverage.ts";
import type { FoundRows, KnownRow, KnownRows } from "./known-rows.ts";
import { COLUMNS } from "./lance-rows.ts";
import { INDEXED_FROM } from "./lance-writes.ts";
import { byRelevance } from "./match.ts";
import type { Match, SearchQuery } from "./match.ts";
import { EVEN_WORD_SCORE, NO_WORDS, computeRelevance, sumOf } from "./relevance.ts";
import type { WordMatch } from "./relevance.ts";
import type { SearchOptions } from "./search-table.ts";
import type { TableFormat } from "./table-format.ts";
import { chooseVectorIndex, hasVectorIndex } from "./vector-index.ts";

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
interface Wanted {
  query: SearchQuery;
  condition: string | undefined;
  limit: number;
  isExact: boolean;
}

/** Searches a table, see `SearchTable`. */
export async function searchTable<Document extends { id: string }, Filter>(
  source: TableWithRows,
  format: TableFormat<Document, Filter>,
  query: SearchQuery,
  filter: Filter,
  limit: number,
  { isExact = false }: SearchOptions = {},
): Promise<Match<Document>[]> {
  const condition = format.toCondition(filter);
  if (condition === null) return [];
  const { byMeaning, byWords } = await findAll(source, format, { query, condition, limit, isExact });
  const encoding = await query.encoding;
  const wordMatchOf = (row: KnownRow<Document>, score: number): WordMatch => ({
    score: format.wordScore === "same" ? EVEN_WORD_SCORE : score,
    coverage: byWords.coverage(row.words()),
  });
  // By the document's id: a document that is written between the two searches has a row in each.
  const matches = new Map<string, Match<Document>>();
  for (const [id, row] of new Map([...byMeaning.rows, ...byWords.rows])) {
    const { vector } = row;
    const score = byWords.scores.get(id);
    const closeness = vector === null || encoding === null ? 0 : cosine(encoding.vector, vector);
    // Before it is parsed, which costs more.
    if (score === undefined && computeRelevance(format.searched, encoding, closeness, NO_WORDS) === undefined) continue;
    const document = row.document();
    // The engine's own numbers round; the filter decides.
    if (!format.passes(document, filter)) continue;
    const parts = computeRelevance(
      format.searched,
      encoding,
      closeness,
      score === undefined ? NO_WORDS : wordMatchOf(row, score),
    );
    if (parts !== undefined) matches.set(document.id, { document, relevance: sumOf(parts), parts, vector });
  }
  return [...matches.values()].sort(byRelevance).slice(0, limit);
}

/** Finds documents by meaning and by words. */
async function findAll<Document extends { id: string }>(
  source: TableWithRows,
  format: TableFormat<Document, never>,
  wanted: Wanted,
) {
  for (let attempt = 1; ; attempt += 1) {
    const [byMeaning, byWords] = await Promise.all([
      findByMeaning(source, format, wanted),
      findByWords(source, format, wanted),
    ]);
    if ((byMeaning.isWhole && byWords.isWhole) || attempt === MOST_ATTEMPTS) return { byMeaning, byWords };
  }
}

/** The nearest vectors, most of them if there is an index of vectors. */
async function findByMeaning<Document extends { id: string }>(
  { table, rows, wholeUpTo }: TableWithRows,
  format: TableFormat<Document, never>,
  { query, condition, limit, isExact }: Wanted,
): Promise<FoundRows<Document>> {
  const { vector } = (await query.encoding) ?? {};
  if (vector === undefined) return nothing();
  const count = isExact ? 0 : await table.countRows();
  // The engine would read the rows without a vector, too. Once there are more, they get an index.
  const isSparse = count >= INDEXED_FROM && !(await hasVectorIndex(table));
  const conditions = [condition ?? [], isSparse ? COLUMNS.embedded : []].flat();
  const nearest = (parts: number) => {
    let search = table.vectorSearch(vector).column(COLUMNS.vector).distanceType("cosine").nprobes(parts).limit(limit);
    const { refineFactor } = chooseVectorIndex(vector.length);
    if (refineFactor !== undefined) search = search.refineFactor(refineFactor);
    if (conditions.length > 0) search = search.where(conditions.map((each) => `(${each})`).join(" AND "));
    return isExact ? search.bypassVectorIndex() : search;
  };
  if (count > wholeUpTo && !isSparse) {
    const found = await rows.find(format, nearest(NEAREST_PARTS), "_distance");
    if (found.rows.size >= limit) return found;
  }
  // A narrow filter leaves too few documents in the nearest ones.
  return await rows.find(format, nearest(ALL_PARTS), "_distance");
}

/** The rows whose words match best, by BM25. */
async function findByWords<Document extends { id: string }>(
  { table, rows }: TableWithRows,
  format: TableFormat<Document, never>,
  { query: { text }, condition, limit }: Wanted,
) {
  const stems = (await table.tokenize(text, { column: COLUMNS.words })).map((token) => token.text);
  const coverage = createCoverage(stems);
  // Without a word to look for, the engine would fail.
  if (stems.length === 0) return { ...nothing<Document>(), coverage };
  let best = table.query().fullTextSearch(text, { columns: COLUMNS.words }).limit(limit);
  if (condition !== undefined) best = best.where(condition);
  return { ...(await rows.find(format, best, "_score")), coverage };
}

function nothing<Document>(): FoundRows<Document> {
  return { rows: new Map(), scores: new Map(), isWhole: true };
}
