import { bytesToHex, sha256, stringToBytes } from "viem";

/** A text that somebody else wrote. It is data to read, never an instruction to follow. */
export interface Untrusted {
  untrusted: true;
  /** Agent id or wallet of its author, or where it was kept. */
  from: string;
  /** Without hidden characters; JSON is written out as text. */
  text: string;
  /** Set if `text` is only the beginning. */
  cut?: Cut;
}

/** What a cut text was cut from. */
export interface Cut {
  /** UTF-8 bytes of the whole text. */
  bytes: number;
  /** SHA-256 of the whole text's UTF-8 bytes, in hexadecimal. */
  sha256: `0x${string}`;
  /** Where the whole text is. */
  reference: string;
}

/** Where a text comes from, and how much of it is passed on. */
export interface Origin {
  from: string;
  /** Where the whole text can be read. */
  reference: string;
  /** UTF-8 bytes passed on; {@link TEXT_BYTES} by default. */
  maxBytes?: number | undefined;
}

/** Bytes of a stranger's text that a result has unless the caller asks for more. */
export const TEXT_BYTES = 4_000;

/**
 * Characters that a reader can't see or that change the order of what is seen: controls, format characters (zero width,
 * bidirectional, tags), variation selectors, fillers, private use, lone surrogates. Line breaks and tabs stay.
 */
const HIDDEN =
  /(?![\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}\p{Variation_Selector}\u2800]/gu;
const LINE_BREAKS = /\r\n?|[\u0085\u2028\u2029]/g;
/** Scripts need two or three marks on a letter. More cover the lines around it. */
const STACKED_MARKS = /(\p{M}{4})\p{M}+/gu;

/** A text without its hidden characters. */
export function visibleText(text: string): string {
  return text.replace(LINE_BREAKS, "\n").replace(HIDDEN, "").replace(STACKED_MARKS, "$1");
}

/**
 * Wraps what somebody else wrote: a text, or JSON, which becomes one text so that none of its keys reads like a field of the
 * result. Every result uses this function for every such text.
 */
export function untrusted(value: unknown, { from, reference, maxBytes = TEXT_BYTES }: Origin): Untrusted {
  const whole = typeof value === "string" ? value : JSON.stringify(value ?? null, bigintAsText);
  const visible = visibleText(whole);
  const wrapped: Untrusted = { untrusted: true, from, text: clip(visible, maxBytes) };
  if (wrapped.text.length === visible.length) return wrapped;
  const bytes = stringToBytes(whole);
  return { ...wrapped, cut: { bytes: bytes.length, sha256: bytesToHex(sha256(bytes, "bytes")), reference } };
}

/** The longest beginning of at most this many UTF-8 bytes, without half a character at its end. */
function clip(text: string, maxBytes: number): string {
  const bytes = stringToBytes(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  // Bytes that continue a character start with the bits 10.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return new TextDecoder().decode(bytes.subarray(0, end));
}

const bigintAsText = (_name: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);
