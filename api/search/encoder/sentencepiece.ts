import { Normalizer } from "./normalizer.ts";
import { PieceTrie } from "./piece-trie.ts";
import { readFields } from "./protobuf.ts";

/** Fields of the model, of a piece, and of the normalisation (sentencepiece_model.proto). */
const MODEL = { piece: 1, normalizer: 3 };
const PIECE = { text: 1, score: 2, type: 3 };
const CHARS_MAP = 2;
/** The type of pieces that are parts of texts. Others are marks. */
const NORMAL = 1;

const UNKNOWN = 0;
const START = 1;
const END = 2;
/** An unknown character scores that much less than the rarest piece. */
const UNKNOWN_PENALTY = 10;
/** More tokens than that aren't read. No text that is searched has as many. */
const MOST_TOKENS = 2_048;
/** No piece is longer, so a text of so many characters has the most tokens at least. */
const LONGEST_PIECE = 16;

/** SentencePiece's unigram tokeniser: a text in the pieces that are the most probable together. */
export class SentencePiece {
  readonly #normalizer: Normalizer;
  readonly #trie: PieceTrie;
  readonly #scores: Float32Array;
  readonly #unknownScore: number;

  /** @param model the bytes of a model file */
  constructor(model: Buffer) {
    const scores: number[] = [];
    const ids = new Map<string, number>();
    let charsMap: Buffer | undefined;
    let least = Infinity;
    for (const { number, bytes } of readFields(model)) {
      if (number === MODEL.normalizer) {
        charsMap = [...readFields(bytes)].find((field) => field.number === CHARS_MAP)?.bytes;
      } else if (number === MODEL.piece) {
        const { text, score, type } = readPiece(bytes);
        if (type === NORMAL) {
          ids.set(text, scores.length);
          least = Math.min(least, score);
        }
        scores.push(score);
      }
    }
    if (charsMap === undefined) throw new Error("The SentencePiece model has no normalisation");
    this.#normalizer = new Normalizer(charsMap);
    this.#trie = new PieceTrie(ids);
    this.#scores = Float32Array.from(scores);
    this.#unknownScore = least - UNKNOWN_PENALTY;
  }

  /** The ids of a text's tokens, between the marks of its start and its end. */
  encode(text: string): number[] {
    const normalised = this.#normalizer.normalize(text.slice(0, MOST_TOKENS * LONGEST_PIECE));
    const characters = Int32Array.from(normalised, (character) => character.codePointAt(0) ?? 0);
    const { length } = characters;
    /** Of the best way to each place: its score, its last piece, and where that starts. */
    const best = new Float64Array(length + 1).fill(-Infinity);
    const pieces = new Int32Array(length + 1);
    const starts = new Int32Array(length + 1);
    best[0] = 0;
    for (let start = 0; start < length; start += 1) {
      const take = (id: number, end: number, score: number): void => {
        const total = (best[start] as number) + score;
        if (total <= (best[end] as number)) return;
        best[end] = total;
        pieces[end] = id;
        starts[end] = start;
      };
      const isKnown = this.#trie.forEachAt(characters, start, (id, end) => {
        take(id, end, this.#scores[id] as number);
      });
      if (!isKnown) take(UNKNOWN, start + 1, this.#unknownScore);
    }
    const ids: number[] = [];
    for (let end = length; end > 0; end = starts[end] as number) ids.push(pieces[end] as number);
    return [START, ...ids.reverse().slice(0, MOST_TOKENS - 2), END];
  }
}

function readPiece(message: Buffer): { text: string; score: number; type: number } {
  const piece = { text: "", score: 0, type: NORMAL };
  for (const { number, bytes, value } of readFields(message)) {
    if (number === PIECE.text) piece.text = bytes.toString();
    else if (number === PIECE.score) piece.score = bytes.readFloatLE();
    else if (number === PIECE.type) piece.type = value;
  }
  return piece;
}
