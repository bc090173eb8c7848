import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";

import type { ParameterizedContext } from "koa";
import getRawBody from "raw-body";

import { MAX_BODY_BYTES } from "../config/constants.ts";
import { ApiError, validationError } from "./errors.ts";
import { lossIssues, structureIssues } from "./validation.ts";

const DECOMPRESSORS = { gzip: createGunzip, deflate: createInflate, br: createBrotliDecompress } as const;

/**
 * The body of a request. Koa's body parser isn't used because it replaces invalid UTF-8, so a stored payload could differ
 * from what was sent.
 */
export class RequestBody {
  readonly #context: Pick<ParameterizedContext, "req" | "request" | "get">;
  #reading: Promise<Buffer> | undefined;

  constructor(context: Pick<ParameterizedContext, "req" | "request" | "get">) {
    this.#context = context;
  }

  /** Its bytes after content decoding. @throws ApiError `unsupported_media_type`, `payload_too_large`, `malformed_json` */
  bytes(): Promise<Buffer> {
    this.#reading ??= this.#hasContent ? readBytes(this.#context.req) : Promise.resolve(Buffer.alloc(0));
    return this.#reading;
  }

  /**
   * Its JSON value. An empty body counts as an empty object, so the error names each missing field.
   * @throws ApiError `unsupported_media_type`, `payload_too_large`, `malformed_json`, `validation_error`
   */
  async json(): Promise<unknown> {
    if (!this.#hasContent) return {};
    if (this.#context.request.is("application/json") !== "application/json") {
      throw new ApiError("unsupported_media_type");
    }
    const bytes = await this.bytes();
    if (bytes.length === 0) return {};
    const text = decodeUtf8(bytes);
    const json = parse(text);
    const issues = structureIssues(json);
    if (issues.length === 0) issues.push(...lossIssues(text));
    if (issues.length > 0) throw validationError(issues);
    return json;
  }

  get #hasContent(): boolean {
    return Number(this.#context.get("Content-Length")) > 0 || this.#context.get("Transfer-Encoding") !== "";
  }
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const encoding = request.headers["content-encoding"]?.toLowerCase() ?? "identity";
  const length = request.headers["content-length"];
  if (encoding === "identity") return limited(request, length === undefined ? {} : { length });
  if (!Object.hasOwn(DECOMPRESSORS, encoding)) throw new ApiError("unsupported_media_type");
  const decompressed = DECOMPRESSORS[encoding as keyof typeof DECOMPRESSORS]();
  // Not `pipeline`: if the body is refused, it would close the connection before the answer is sent.
  const abort = (error: Error) => decompressed.destroy(error);
  request.once("error", abort).pipe(decompressed);
  try {
    return await limited(decompressed, {});
  } finally {
    request.off("error", abort).unpipe(decompressed);
    decompressed.destroy();
  }
}

async function limited(stream: Readable, expected: { length?: string }): Promise<Buffer> {
  try {
    return await getRawBody(stream, { limit: MAX_BODY_BYTES, ...expected });
  } catch (error) {
    const { status } = error as { status?: unknown };
    if (status === 413) throw new ApiError("payload_too_large", { details: { maxBytes: MAX_BODY_BYTES } });
    throw new ApiError("malformed_json", { cause: error });
  }
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new ApiError("malformed_json", { details: { reason: "invalid_utf8" }, cause: error });
  }
}

/** Only objects and arrays are accepted as bodies. A lone string or number is refused like malformed JSON. */
function parse(text: string): object {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new ApiError("malformed_json", { cause: error });
  }
  if (typeof json !== "object" || json === null) throw new ApiError("malformed_json");
  return json;
}
