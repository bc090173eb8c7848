import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { ENCODER_FOLDER } from "../encoder/files.ts";
import { loadMiniLM, loadMultilingual, MINILM_DIMENSIONS, USE_DIMENSIONS } from "../encoder/models.ts";
import { isEnglish } from "../query-language.ts";
import { knownWordShare } from "./words.ts";

/**
 * What a vector is for. Documents get both parts, because queries of any language search them. A query gets the first part only if it
 * is English. `english` is MiniLM alone, for comparing English texts with each other.
 */
export type VectorUse = "query" | "document" | "english";

/** A text's vector, and what the encoder knows of its words. */
export interface PairEncoding {
  /** Unit vector. */
  vector: Float32Array;
  knownWordShare: number;
  language: "english" | "other";
}

/** Length of a vector of both parts. */
export const PAIR_DIMENSIONS = MINILM_DIMENSIONS + USE_DIMENSIONS;
/** Share of each part in the cosine of two English texts. Tuned on the tuning half of test/bench/discovery. */
const MINILM_SHARE = 0.7;

/**
 * Two models in one vector: MiniLM, which knows English better than a model of its size that knows many languages, and Universal Sentence
 * Encoder multilingual. The parts' lengths are such that the cosine of two English texts is the weighted mean of both cosines.
 */
export async function loadPair(): Promise<(text: string, use: VectorUse) => Promise<PairEncoding>> {
  const [miniLM, multilingual, listed] = await Promise.all([
    loadMiniLM(),
    loadMultilingual(),
    readFile(join(ENCODER_FOLDER, "english-words.txt"), "utf8"),
  ]);
  const englishWords = new Set(listed.split("\n"));

  async function vectorOf(text: string, use: VectorUse, language: PairEncoding["language"]): Promise<Float32Array> {
    if (use === "english") return await miniLM.embed(text);
    const vector = new Float32Array(PAIR_DIMENSIONS);
    // Alone, the second part is the whole vector. Its cosine with a document has that part's weight all the same.
    const isMultilingualAlone = use === "query" && language === "other";
    if (!isMultilingualAlone) {
      const factor = Math.sqrt(MINILM_SHARE);
      vector.set((await miniLM.embed(text)).map((value) => value * factor));
    }
    const factor = isMultilingualAlone ? 1 : Math.sqrt(1 - MINILM_SHARE);
    vector.set(
      (await multilingual.embed(text)).map((value) => value * factor),
      MINILM_DIMENSIONS,
    );
    return vector;
  }

  return async (text, use) => {
    const share = knownWordShare(text, englishWords);
    const language = isEnglish(text, share) ? "english" : "other";
    return { vector: await vectorOf(text, use, language), knownWordShare: share, language };
  };
}
