import type { Table } from "@lancedb/lancedb";

import { COLUMNS, loadEngine } from "./lance-rows.ts";

/** The engine's name of the index of vectors. */
export const VECTOR_INDEX = `${COLUMNS.vector}_idx`;

/** How compressed vectors are compared: the engine's name of the index, and how many of the nearest ones are compared again. */
interface VectorIndexKind {
  type: "IVF_RQ" | "IVF_PQ";
  /** So many times as many vectors as are wanted are read and compared exactly; undefined if that isn't needed. */
  refineFactor: number | undefined;
  /** The most that a cosine can be, from the distance that a search with the index gives. */
  mostCloseness: (distance: number) => number;
}

/** Of rounding alone. */
const EXACT_ERROR = 1e-5;
/**
 * By how much a cosine of RaBitQ was smaller than the exact one, at most, times the root of the vectors' length: 0.24 with 85 queries, each
 * compared with the 800 nearest of 200,000 generated listings.
 */
const RABITQ_ERROR = 0.3;

/** The most that a cosine can be, from the distance to a vector that is compared whole. */
export function exactCloseness(distance: number): number {
  return 1 - distance + EXACT_ERROR;
}

/**
 * RaBitQ gives twice the distance. Vectors that were added since the last tidying are compared whole, and give the distance itself; for
 * them this is more than needed.
 */
function rabitqCloseness(dimensions: number): (distance: number) => number {
  const error = RABITQ_ERROR / Math.sqrt(dimensions);
  return (distance) => 1 - distance / 2 + error;
}

/**
 * RaBitQ keeps that many bits of each number. Among 200 of 100,000 generated listings, it then had all of the 50 nearest without
 * reading a vector, and 0.95 of the 200 nearest.
 */
const BITS = 5;
/** RaBitQ takes only lengths that this number divides. */
const RABITQ_STEP = 8;

/**
 * The index for vectors of a length. Product quantisation takes any length, but of the same 200 it had 0.90 of the 50 nearest, and
 * only because 800 vectors were read for each search, which cost more than the rest of it.
 */
export function chooseVectorIndex(dimensions: number): VectorIndexKind {
  return dimensions % RABITQ_STEP === 0
    ? { type: "IVF_RQ", refineFactor: undefined, mostCloseness: rabitqCloseness(dimensions) }
    : { type: "IVF_PQ", refineFactor: 4, mostCloseness: exactCloseness };
}

/** How the engine is to make that index. */
export async function vectorIndexConfig({ type }: VectorIndexKind) {
  const { Index } = await loadEngine();
  return type === "IVF_RQ"
    ? Index.ivfRq({ distanceType: "cosine", numBits: BITS })
    : Index.ivfPq({ distanceType: "cosine" });
}

/** Tables that are known to have one: none ever loses it. */
const indexed = new WeakSet<Table>();

/** Whether a table has an index of vectors. */
export async function hasVectorIndex(table: Table): Promise<boolean> {
  if (!indexed.has(table) && (await table.listIndices()).some(({ name }) => name === VECTOR_INDEX)) indexed.add(table);
  return indexed.has(table);
}
