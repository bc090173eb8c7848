/** More tokens than that aren't read: the model was trained on texts of up to 256. */
const MOST_TOKENS = 256;
/** A longer word is unknown. */
const LONGEST_WORD = 100;
/** Marks a piece that continues a word. */
const CONTINUES = "##";

const SPACE = /[\t\n\r\p{Zs}]/u;
/** Characters that are dropped: control, format, private, surrogate and the replacement character. */
const DROPPED = /[\p{C}\uFFFD]/u;
/** The scripts whose every character is a word of its own. */
const IDEOGRAPH =
  /[\u4E00-\u9FFF\u3400-\u4DBF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B73F}\u{2B740}-\u{2B81F}\u{2B820}-\u{2CEAF}\uF900-\uFAFF\u{2F800}-\u{2FA1F}]/u;
/** Unicode's punctuation, and the ASCII symbols that the model's vocabulary counts to it. */
const WORDS_AND_PUNCTUATION = /[\p{P}$+<=>^`|~]|[^\s\p{P}$+<=>^`|~]+/gu;
const ACCENTS = /\p{Mn}/gu;

/**
 * WordPiece as BERT's uncased models use it: lower case, no accents, and each word in the longest pieces of the vocabulary.
 * No package does it from vocab.txt alone: @huggingface/tokenizers wants a tokenizer.json, and it reads SentencePiece's compiled
 * normalisation only roughly, so the other tokeniser would be needed beside it.
 */
export class WordPiece {
  readonly #ids: ReadonlyMap<string, number>;
  readonly #start: number;
  readonly #end: number;
  readonly #unknown: number;

  /** @param vocabulary a piece a line, in the order of the ids */
  constructor(vocabulary: string) {
    this.#ids = new Map(vocabulary.split("\n").map((piece, id) => [piece, id]));
    this.#start = this.#idOf("[CLS]");
    this.#end = this.#idOf("[SEP]");
    this.#unknown = this.#idOf("[UNK]");
  }

  /** The ids of a text's first 256 tokens, the marks of its start and end among them. */
  encode(text: string): number[] {
    const ids = [this.#start];
    for (const [word] of normalised(text).matchAll(WORDS_AND_PUNCTUATION)) {
      ids.push(...this.#piecesOf(Array.from(word)));
      if (ids.length >= MOST_TOKENS) break;
    }
    return [...ids.slice(0, MOST_TOKENS - 1), this.#end];
  }

  #piecesOf(word: readonly string[]): number[] {
    if (word.length > LONGEST_WORD) return [this.#unknown];
    const ids: number[] = [];
    for (let start = 0; start < word.length;) {
      let end = word.length;
      let id: number | undefined;
      for (; end > start; end -= 1) {
        const piece = word.slice(start, end).join("");
        id = this.#ids.get(start === 0 ? piece : CONTINUES + piece);
        if (id !== undefined) break;
      }
      if (id === undefined) return [this.#unknown];
      ids.push(id);
      start = end;
    }
    return ids;
  }

  #idOf(piece: string): number {
    const id = this.#ids.get(piece);
    if (id === undefined) throw new Error(`The vocabulary has no ${piece}`);
    return id;
  }
}

function normalised(text: string): string {
  let kept = "";
  for (const character of text.normalize("NFC")) {
    if (SPACE.test(character)) kept += " ";
    else if (DROPPED.test(character)) continue;
    else kept += IDEOGRAPH.test(character) ? ` ${character} ` : character;
  }
  return kept.toLowerCase().normalize("NFD").replace(ACCENTS, "");
}
