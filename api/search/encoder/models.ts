import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { zstdDecompressSync } from "node:zlib";

import type { InferenceSession, Tensor } from "onnxruntime-node";

import { ENCODER_FOLDER, loadRuntime } from "./files.ts";
import type { EncoderFile } from "./files.ts";
import { SentencePiece } from "./sentencepiece.ts";
import { WordPiece } from "./wordpiece.ts";

/** A model that turns a text into a unit vector. */
export interface TextModel {
  readonly dimensions: number;
  embed(text: string): Promise<Float32Array>;
}

type Runtime = Awaited<ReturnType<typeof loadRuntime>>;

/** One processor for a text: a process embeds several at once, and leaves the other processors to the search engine. */
const SESSION: InferenceSession.SessionOptions = {
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  // Processors without AVX-512 VNNI would cut sums that are too large for 16 bits, and give other vectors than those with it.
  extra: { session: { x64quantprecision: "1" } },
};
export const MINILM_DIMENSIONS = 384;
export const USE_DIMENSIONS = 512;
/** The multilingual table was compressed in so many parts, each with a scale of its own: token n is in part n modulo 17. */
const TABLE_PARTS = 17;

/** all-MiniLM-L6-v2, 8 bit: English, read as a whole. */
export async function loadMiniLM(): Promise<TextModel> {
  const runtime = await loadRuntime();
  const [vocabulary, session] = await Promise.all([read("vocab.txt"), openSession(runtime, "all-minilm-l6-v2-q.onnx")]);
  const tokens = new WordPiece(vocabulary.toString());
  return {
    dimensions: MINILM_DIMENSIONS,
    async embed(text) {
      const ids = tokens.encode(text);
      const input = (values: BigInt64Array): Tensor => new runtime.Tensor("int64", values, [1, ids.length]);
      const { last_hidden_state: states } = await session.run({
        input_ids: input(BigInt64Array.from(ids, BigInt)),
        attention_mask: input(new BigInt64Array(ids.length).fill(1n)),
        token_type_ids: input(new BigInt64Array(ids.length)),
      });
      return unit(sumRows(readFloats(states), MINILM_DIMENSIONS));
    },
  };
}

/** Universal Sentence Encoder multilingual v3, 8 bit: 16 languages. */
export async function loadMultilingual(): Promise<TextModel> {
  const runtime = await loadRuntime();
  const [model, compressed, scale, session] = await Promise.all([
    read("sp.model"),
    read("usem-table.u8.zst"),
    read("usem_scale.f32"),
    openSession(runtime, "usem_q8.onnx"),
  ]);
  const tokens = new SentencePiece(model);
  const table = zstdDecompressSync(compressed);
  const [scales, least] = [0, TABLE_PARTS].map((first) =>
    Float32Array.from({ length: TABLE_PARTS }, (_, part) =>
      scale.readFloatLE((first + part) * Float32Array.BYTES_PER_ELEMENT),
    ),
  ) as [Float32Array, Float32Array];

  /** The rows of the table for tokens, one after another. */
  function dequantise(ids: readonly number[]): Float32Array {
    const rows = new Float32Array(ids.length * USE_DIMENSIONS);
    for (const [place, id] of ids.entries()) {
      const part = id % TABLE_PARTS;
      const [factor, first] = [scales[part] as number, least[part] as number];
      const [from, to] = [id * USE_DIMENSIONS, place * USE_DIMENSIONS];
      for (let index = 0; index < USE_DIMENSIONS; index += 1) {
        rows[to + index] = (table[from + index] as number) * factor + first;
      }
    }
    return rows;
  }

  return {
    dimensions: USE_DIMENSIONS,
    async embed(text) {
      const ids = tokens.encode(text);
      const emb = new runtime.Tensor("float32", dequantise(ids), [ids.length, USE_DIMENSIONS]);
      const { embedding } = await session.run({ emb });
      return unit(readFloats(embedding));
    },
  };
}

function read(file: EncoderFile): Promise<Buffer> {
  return readFile(join(ENCODER_FOLDER, file));
}

function openSession(runtime: Runtime, file: EncoderFile): Promise<InferenceSession> {
  return runtime.InferenceSession.create(join(ENCODER_FOLDER, file), SESSION);
}

function readFloats(output: Tensor | undefined): Float32Array {
  if (!(output?.data instanceof Float32Array)) throw new Error("The model gave no vector");
  return output.data;
}

/** The sum of vectors that stand one after another. */
function sumRows(rows: Float32Array, dimensions: number): Float32Array {
  const sum = new Float32Array(dimensions);
  for (let index = 0; index < rows.length; index += 1) {
    (sum[index % dimensions] as number) += rows[index] as number;
  }
  return sum;
}

function unit(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}
