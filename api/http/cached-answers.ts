import type { IncomingHttpHeaders } from "node:http";

import { z } from "zod";

import { sha256Hex } from "../lib/ids.ts";
import { KeptByKey } from "../lib/kept.ts";
import type { RawResult } from "./define-route.ts";
import { namesEtag } from "./if-none-match.ts";

/** The headers of a route whose answers have an ETag. */
export const CONDITIONAL = {
  requestHeaders: { "If-None-Match": z.string().optional().meta({ description: "The `ETag` of a known answer" }) },
  responseHeaders: { ETag: z.string().meta({ header: { id: "AnswerETag", description: "Changes with the answer" } }) },
};

/** An answer as it is sent. */
interface Prepared {
  text: string;
  etag: string;
}

/** Settings of kept answers. */
export interface CachedAnswersOptions<Body extends z.ZodType> {
  /** Of the body. Each body is parsed once, when it is made. */
  schema: Body;
  /** How old an answer may be, in milliseconds. */
  maxAgeMs: number;
  /** How many answers are kept. */
  maxEntries: number;
}

const ETAG_LENGTH = 32;

/**
 * Successful JSON answers that anyone may read, kept in this process for a short time. Requests for the same thing at the same
 * time share the work.
 */
export class CachedAnswers<Body extends z.ZodType> {
  readonly #schema: Body;
  readonly #maxAgeMs: number;
  readonly #kept: KeptByKey<Prepared>;

  constructor({ schema, maxAgeMs, maxEntries }: CachedAnswersOptions<Body>) {
    this.#schema = schema;
    this.#maxAgeMs = maxAgeMs;
    this.#kept = new KeptByKey({ maxAgeMs, maxEntries });
  }

  /**
   * The answer to a request with these headers; 304 if the client has it.
   * @param key names what is asked for
   * @param make makes the body if none is kept
   */
  async answer(
    key: string,
    requested: IncomingHttpHeaders,
    make: () => Promise<z.input<Body>> | z.input<Body>,
  ): Promise<RawResult> {
    const { text, etag } = await this.#kept.read(key, () => this.#prepare(make));
    const headers = { ETag: etag, "Cache-Control": `public, max-age=${Math.floor(this.#maxAgeMs / 1_000)}` };
    if (namesEtag(requested["if-none-match"], etag)) return { status: 304, raw: "", headers };
    return { status: 200, raw: text, headers: { ...headers, "Content-Type": "application/json; charset=utf-8" } };
  }

  async #prepare(make: () => Promise<z.input<Body>> | z.input<Body>): Promise<Prepared> {
    const text = JSON.stringify(await this.#schema.parseAsync(await make()));
    return { text, etag: `"${sha256Hex(text).slice(0, ETAG_LENGTH)}"` };
  }
}
