const ROOT = 0;
const NONE = -1;
/** Spreads keys over the table: 2^32 divided by the golden ratio. */
const SPREAD = 0x9e37_79b1;

/**
 * Pieces by their characters. Its nodes stand in one table of numbers: as nested maps, 128,000 pieces would take ten times as much
 * memory.
 */
export class PieceTrie {
  readonly #mask: number;
  readonly #parents: Int32Array;
  readonly #characters: Int32Array;
  readonly #children: Int32Array;
  /** The id of the piece that ends at a node. */
  readonly #ids: Int32Array;
  #nodes = 1;

  /** @param pieces each with its id */
  constructor(pieces: ReadonlyMap<string, number>) {
    const most = 1 + [...pieces.keys()].reduce((sum, piece) => sum + piece.length, 0);
    // Pieces share their beginnings, so more than half of the table stays free.
    const size = 2 ** Math.ceil(Math.log2(most));
    this.#mask = size - 1;
    this.#parents = new Int32Array(size).fill(NONE);
    this.#characters = new Int32Array(size);
    this.#children = new Int32Array(size);
    this.#ids = new Int32Array(most).fill(NONE);
    for (const [piece, id] of pieces) {
      let node = ROOT;
      for (const character of piece) node = this.#add(node, character.codePointAt(0) ?? 0);
      this.#ids[node] = id;
    }
  }

  /**
   * Calls back for each piece that starts at a place, with the place where it ends.
   * @returns whether the character there is a piece of its own
   */
  forEachAt(characters: Int32Array, start: number, found: (id: number, end: number) => void): boolean {
    let node = ROOT;
    let isPiece = false;
    for (let position = start; position < characters.length; position += 1) {
      const slot = this.#slotOf(node, characters[position] as number);
      if (this.#parents[slot] === NONE) break;
      node = this.#children[slot] as number;
      const id = this.#ids[node] as number;
      if (id === NONE) continue;
      found(id, position + 1);
      isPiece ||= position === start;
    }
    return isPiece;
  }

  #add(node: number, character: number): number {
    const slot = this.#slotOf(node, character);
    if (this.#parents[slot] === NONE) {
      this.#parents[slot] = node;
      this.#characters[slot] = character;
      this.#children[slot] = this.#nodes;
      this.#nodes += 1;
    }
    return this.#children[slot] as number;
  }

  /** Where the child of a node is, or where it would be. */
  #slotOf(node: number, character: number): number {
    let slot = Math.imul(Math.imul(node, SPREAD) ^ character, SPREAD) >>> 8;
    for (; ; slot += 1) {
      slot &= this.#mask;
      const parent = this.#parents[slot];
      if (parent === NONE || (parent === node && this.#characters[slot] === character)) return slot;
    }
  }
}
