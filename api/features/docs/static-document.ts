import type { IncomingHttpHeaders } from "node:http";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";

import type { RawResult } from "../../http/define-route.ts";
import { namesEtag } from "../../http/if-none-match.ts";
import { sha256Hex } from "../../lib/ids.ts";

/** A document as it is sent. */
interface Prepared {
  etag: string;
  text: Buffer;
  /** By content encoding, the smallest first. */
  compressed: readonly (readonly ["br" | "gzip", Buffer])[];
}

/** A JSON document that stays the same: made and compressed when it is first asked for. */
export class StaticDocument {
  readonly #make: () => object;
  #prepared: Promise<Prepared> | undefined;

  constructor(make: () => object) {
    this.#make = make;
  }

  /** The answer to a request with these headers; 304 if the client has the document. */
  async answer(requested: IncomingHttpHeaders): Promise<RawResult> {
    const { etag, text, compressed } = await (this.#prepared ??= prepare(this.#make()));
    const headers = { ETag: etag, "Cache-Control": "no-cache", Vary: "Accept-Encoding" };
    if (namesEtag(requested["if-none-match"], etag)) return { status: 304, raw: "", headers };
    const accepted = acceptedEncodings(requested["accept-encoding"]);
    const [encoding, raw] = compressed.find(([name]) => accepted.has(name)) ?? (["identity", text] as const);
    const type = { ...headers, "Content-Type": "application/json; charset=utf-8" };
    return { status: 200, raw, headers: encoding === "identity" ? type : { ...type, "Content-Encoding": encoding } };
  }
}

async function prepare(document: object): Promise<Prepared> {
  const text = Buffer.from(JSON.stringify(document));
  const [br, gz] = await Promise.all([promisify(brotliCompress)(text), promisify(gzip)(text)]);
  // Weak, because it names every encoding of the document.
  const etag = `W/"${sha256Hex(text.toString()).slice(0, 32)}"`;
  return {
    etag,
    text,
    compressed: [
      ["br", br],
      ["gzip", gz],
    ],
  };
}

/** The encodings that a request accepts: those that `Accept-Encoding` names without `q=0`. */
function acceptedEncodings(header: string | string[] | undefined): Set<string> {
  const given = (Array.isArray(header) ? header.join() : (header ?? "")).split(",");
  const wanted = given.filter((part) => !/;\s*q=0(\.0*)?\s*$/.test(part));
  return new Set(wanted.map((part) => part.split(";")[0]?.trim().toLowerCase() ?? ""));
}
