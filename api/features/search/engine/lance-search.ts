import type { Query, Table, VectorQuery } from "@lancedb/lancedb";

import { cosine } from "../embedding/vectors.ts";
import { coverageOf } from "./coverage.ts";
import { COLUMNS } from "./lance-rows.ts";
import { byRelevance } from "./match.ts";
import type { Match, SearchQuery } from "./match.ts";
import { EVEN_WORD_SCORE, NO_WORDS, relevanceOf, sumOf } from "./relevance.ts";
import type { WordMatch } from "./relevance.ts";
import type { SearchOptions } from "./search-table.ts";
import type { TableFormat } from "./table-format.ts";
import { vectorIndexOf } from "./vector-index.ts";

const TIMEOUT_MS = 10_000;
/**
 * How many parts of the vectors' index are searched, of about the root of the number of documents: at least these, and
 * up to these while a narrow filter leaves too few documents.
 */
const LEAST_PROBES = 20;
const MOST_PROBES = 400;

interface FoundRow {
  /** The row's own id. It is free, while a column with the document's costs as much as another one. */
  id: bigint;
  document: string;
  vector: Float32Array | null;
  /** BM25; undefined in a search by meaning. */
  score: number | undefined;
}

/** Searches a table, see `SearchTable`. */
export async function searchTable<Document extends { id: string }, Filter>(
  table: Table,
  format: TableFormat<Document, Filter>,
  query: SearchQuery,
  filter: Filter,
  limit: number,
  { isExact = false }: SearchOptions = {},
): Promise<Match<Document>[]> {
  const condition = format.conditionOf(filter);
  if (condition === null) return [];
  const [encoding, byMeaning, byWords] = await Promise.all([
    query.encoding,
    findByMeaning(table, query.encoding, condition, limit, isExact),
    findByWords(table, query.text, condition, limit),
  ]);
  const wordMatchOf = (document: Document, score: number): WordMatch => ({
    score: format.wordScore === "same" ? EVEN_WORD_SCORE : score,
    coverage: byWords.coverage(format.wordsOf(document)),
  });
  const rows = new Map([...byMeaning, ...byWords.rows].map((row) => [row.id, row] as const));
  // By the document's id: a document that is written between the two searches has a row in each.
  const matches = new Map<string, Match<Document>>();
  for (const { score, vector, document: serialized } of rows.values()) {
    const closeness = vector === null || encoding === null ? 0 : cosine(encoding.vector, vector);
    // Before it is parsed, which is most of this loop's work.
    if (score === undefined && relevanceOf(encoding, closeness, NO_WORDS) === undefined) continue;
    const document = format.deserialize(serialized);
    // The engine's own numbers round; the filter decides.
    if (!format.passes(document, filter)) continue;
    const words = score === undefined ? NO_WORDS : wordMatchOf(document, score);
    const parts = relevanceOf(encoding, closeness, words);
    if (parts !== undefined) matches.set(document.id, { document, relevance: sumOf(parts), parts, vector });
  }
  return [...matches.values()].sort(byRelevance).slice(0, limit);
}

/** The nearest vectors, most of them if there is an index of vectors. */
async function findByMeaning(
  table: Table,
  encoding: SearchQuery["encoding"],
  condition: string | undefined,
  limit: number,
  isExact: boolean,
): Promise<FoundRow[]> {
  const { vector } = (await encoding) ?? {};
  if (vector === undefined) return [];
  let query = table
    .vectorSearch(vector)
    .column(COLUMNS.vector)
    .distanceType("cosine")
    .minimumNprobes(LEAST_PROBES)
    .maximumNprobes(MOST_PROBES)
    .select([COLUMNS.document, COLUMNS.vector, "_distance"])
    .withRowId()
    .limit(limit);
  const { refineFactor } = vectorIndexOf(vector.length);
  if (refineFactor !== undefined) query = query.refineFactor(refineFactor);
  if (condition !== undefined) query = query.where(condition);
  if (isExact) query = query.bypassVectorIndex();
  return await readRows(query);
}

async function findByWords(table: Table, text: string, condition: string | undefined, limit: number) {
  const stems = (await table.tokenize(text, { column: COLUMNS.words })).map((token) => token.text);
  const coverage = coverageOf(stems);
  // Without a word to look for, the engine would fail.
  if (stems.length === 0) return { rows: [], coverage };
  let query = table
    .query()
    .fullTextSearch(text, { columns: COLUMNS.words })
    .select([COLUMNS.document, COLUMNS.vector, "_score"])
    .withRowId()
    .limit(limit);
  if (condition !== undefined) query = query.where(condition);
  return { rows: await readRows(query), coverage };
}

/** Reads what a query finds, column by column: the object that Arrow makes for a row looks each field up again. */
async function readRows(query: Query | VectorQuery): Promise<FoundRow[]> {
  const { batches } = await query.toArrow({ timeoutMs: TIMEOUT_MS });
  return batches.flatMap((batch) => {
    const [ids, documents, vectors, scores] = ["_rowid", COLUMNS.document, COLUMNS.vector, "_score"].map((name) =>
      batch.getChild(name),
    );
    const numbers = vectors?.getChildAt(0)?.toArray() as Float32Array;
    const length = numbers.length / batch.numRows;
    return Array.from({ length: batch.numRows }, (_, row) => ({
      id: ids?.get(row) as bigint,
      document: documents?.get(row) as string,
      vector: vectors?.isValid(row) === true ? numbers.subarray(row * length, (row + 1) * length) : null,
      score: scores?.get(row) as number | undefined,
    }));
  });
}
