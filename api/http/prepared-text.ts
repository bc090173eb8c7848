import type { IncomingHttpHeaders } from "node:http";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

import { sha256Hex } from "../lib/ids.ts";
import type { RawResult } from "./define-route.ts";
import { namesEtag } from "./if-none-match.ts";

/** A text as it is sent, with and without compression. */
export interface PreparedText {
  etag: string;
  text: Buffer;
  /** By content encoding, the smallest first. */
  compressed: readonly (readonly ["br" | "gzip", Buffer])[];
}

/** How a text is sent. */
export interface TextHeaders {
  /** With its parameters. */
  type: string;
  /** `no-cache` by default: a copy may be kept, and is asked for again. */
  cacheControl?: string;
  /** Others. */
  headers?: Readonly<Record<string, string>>;
}

/** Of brotli: close to the best, at a tenth of its time. */
const QUICK_QUALITY = 5;

/** A text that is too short to be worth compressing. */
export function plainText(text: string): PreparedText {
  // Weak, because it names every encoding of the text.
  return { etag: `W/"${sha256Hex(text).slice(0, 32)}"`, text: Buffer.from(text), compressed: [] };
}

/** Compresses a text. `isQuick` is for one that changes while the process runs. */
export async function prepareText(text: string, { isQuick = false } = {}): Promise<PreparedText> {
  const plain = plainText(text);
  const bytes = plain.text;
  const quality = isQuick ? QUICK_QUALITY : constants.BROTLI_MAX_QUALITY;
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  const [br, gz] = await Promise.all([promisify(brotliCompress)(bytes, { params }), promisify(gzip)(bytes)]);
  return {
    ...plain,
    compressed: [
      ["br", br],
      ["gzip", gz],
    ],
  };
}

/** The answer to a request with these headers; 304 if the client has the text. */
export function answerText(
  { etag, text, compressed }: PreparedText,
  requested: IncomingHttpHeaders,
  { type, cacheControl = "no-cache", headers: others = {} }: TextHeaders,
): RawResult {
  const headers = { ...others, ETag: etag, "Cache-Control": cacheControl, Vary: "Accept-Encoding" };
  if (namesEtag(requested["if-none-match"], etag)) return { status: 304, raw: "", headers };
  const accepted = acceptedEncodings(requested["accept-encoding"]);
  const [encoding, raw] = compressed.find(([name]) => accepted.has(name)) ?? (["identity", text] as const);
  const typed = { ...headers, "Content-Type": type };
  return { status: 200, raw, headers: encoding === "identity" ? typed : { ...typed, "Content-Encoding": encoding } };
}

/** The encodings that a request accepts: those that `Accept-Encoding` names without `q=0`. */
function acceptedEncodings(header: string | string[] | undefined): Set<string> {
  const given = (Array.isArray(header) ? header.join() : (header ?? "")).split(",");
  const wanted = given.filter((part) => !/;\s*q=0(\.0*)?\s*$/.test(part));
  return new Set(wanted.map((part) => part.split(";")[0]?.trim().toLowerCase() ?? ""));
}
