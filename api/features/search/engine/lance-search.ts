import type { Table } from "@lancedb/lancedb";

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

/** What a row has. */
interface Found<Document> {
  document: Document;
  vector: Float32Array | null;
}

interface Candidate<Document> extends Found<Document> {
  match: WordMatch;
}

interface FoundRow {
  /** Free, while the column with the document's id costs as much as another one. */
  _rowid: bigint;
  document: string;
  vector: { toArray(): Float32Array } | null;
  _score?: number;
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
  const rows = new Map<bigint, Found<Document>>();
  const found = (row: FoundRow): Found<Document> => {
    const known = rows.get(row._rowid) ?? foundOf(format, row);
    rows.set(row._rowid, known);
    return known;
  };
  // By the document's id: a document that is written between the two searches has a row in each.
  const candidates = new Map<string, Candidate<Document>>();
  for (const row of byMeaning) candidates.set(found(row).document.id, { ...found(row), match: NO_WORDS });
  for (const row of byWords.rows) {
    const { id } = found(row).document;
    const candidate = candidates.get(id) ?? found(row);
    const coverage = byWords.coverage(format.wordsOf(candidate.document));
    const score = format.wordScore === "same" ? EVEN_WORD_SCORE : (row._score ?? 0);
    candidates.set(id, { ...candidate, match: { score, coverage } });
  }
  const matches: Match<Document>[] = [];
  for (const { document, vector, match } of candidates.values()) {
    // The engine's own numbers round; the filter decides.
    if (!format.passes(document, filter)) continue;
    const closeness = vector === null || encoding === null ? 0 : cosine(encoding.vector, vector);
    const parts = relevanceOf(encoding, closeness, match);
    if (parts !== undefined) matches.push({ document, relevance: sumOf(parts), parts, vector });
  }
  return matches.sort(byRelevance).slice(0, limit);
}

function foundOf<Document extends { id: string }>(
  format: Pick<TableFormat<Document, never>, "deserialize">,
  { document, vector }: FoundRow,
): Found<Document> {
  return { document: format.deserialize(document), vector: vector?.toArray() ?? null };
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
  return (await query.toArray({ timeoutMs: TIMEOUT_MS })) as FoundRow[];
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
  return { rows: (await query.toArray({ timeoutMs: TIMEOUT_MS })) as FoundRow[], coverage };
}
