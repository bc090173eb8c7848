/** Bits of a unit of the trie (the double array of the Darts library). */
const HAS_LEAF = 0x100;
const LABEL = 0x8000_00ff;
const VALUE = 0x7fff_ffff;
/** What a space becomes, and what every word starts with. */
const WORD_START = [...Buffer.from("\u2581")];
const SPACE = 0x20;

/**
 * SentencePiece's compiled normalisation. Its rules (nmt_nfkc: NFKC, and what machine translation does with spaces and control
 * characters) are a trie from byte sequences to their replacements. No text without it gets the ids that the model was trained on:
 * `String.normalize` alone differs in spaces, dashes, quotes and control characters.
 */
export class Normalizer {
  readonly #units: Uint32Array;
  readonly #replacements: Buffer;

  /** @param charsMap the length of the trie, the trie, and the replacements, each ended by a zero */
  constructor(charsMap: Buffer) {
    const trieLength = charsMap.readUInt32LE(0);
    const start = Uint32Array.BYTES_PER_ELEMENT;
    this.#units = Uint32Array.from({ length: trieLength / start }, (_, index) =>
      charsMap.readUInt32LE(start + index * start),
    );
    this.#replacements = charsMap.subarray(start + trieLength);
  }

  /** The text with every word after a mark of its start, and no other space. Empty if the text has nothing but space. */
  normalize(text: string): string {
    const bytes = Buffer.from(text);
    const normalised: number[] = [];
    let isAfterSpace = true;
    for (let position = 0; position < bytes.length;) {
      const { replacement, length } = this.#longestAt(bytes, position);
      position += length;
      for (const byte of replacement) {
        // Marked once, before the word that follows.
        if (byte !== SPACE && isAfterSpace) normalised.push(...WORD_START);
        isAfterSpace = byte === SPACE;
        if (!isAfterSpace) normalised.push(byte);
      }
    }
    return Buffer.from(normalised).toString();
  }

  /** The replacement of the longest sequence at a place that has one; otherwise the character there. */
  #longestAt(bytes: Buffer, from: number): { replacement: Buffer; length: number } {
    let node = offsetOf(this.#unit(0));
    let found: { value: number; length: number } | undefined;
    for (let position = from; position < bytes.length; position += 1) {
      const byte = bytes.readUInt8(position);
      node ^= byte;
      const unit = this.#unit(node);
      if ((unit & LABEL) >>> 0 !== byte) break;
      node ^= offsetOf(unit);
      if ((unit & HAS_LEAF) !== 0) found = { value: this.#unit(node) & VALUE, length: position + 1 - from };
    }
    if (found === undefined) {
      const length = characterLength(bytes.readUInt8(from));
      return { replacement: bytes.subarray(from, from + length), length };
    }
    const { value, length } = found;
    return { replacement: this.#replacements.subarray(value, this.#replacements.indexOf(0, value)), length };
  }

  #unit(index: number): number {
    // Outside of the trie nothing continues: no byte has this label.
    return this.#units[index] ?? LABEL;
  }
}

function offsetOf(unit: number): number {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}

/** Bytes of the UTF-8 character that starts with a byte. */
function characterLength(first: number): number {
  if (first < 0x80) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}
