import { loadEngine } from "./lance-rows.ts";

/** How compressed vectors are compared: the engine's name of the index, and how many of the nearest ones are compared again. */
interface VectorIndexKind {
  type: "IVF_RQ" | "IVF_PQ";
  /** So many times as many vectors as are wanted are read and compared exactly; undefined if that isn't needed. */
  refineFactor: number | undefined;
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
    ? { type: "IVF_RQ", refineFactor: undefined }
    : { type: "IVF_PQ", refineFactor: 4 };
}

/** How the engine is to make that index. */
export async function vectorIndexConfig({ type }: VectorIndexKind) {
  const { Index } = await loadEngine();
  return type === "IVF_RQ"
    ? Index.ivfRq({ distanceType: "cosine", numBits: BITS })
    : Index.ivfPq({ distanceType: "cosine" });
}
